/**
 * The import rules: folders say where code runs, and these say what it may know. Each rule is proven by a
 * file that breaks it in test/structure/import-rules.test.ts.
 */

const temporal = (...packages) => `(^|/)node_modules/@temporalio/(${packages.join("|")})/`;
const anyTemporal = "(^|/)node_modules/@temporalio/";
/** What code above the providers may know of them: the interface and a list by name, never an engine. */
const providerInterface = "^src/providers/(provider|channel|errors|registry)\\.ts$";
/** The composition root: the worker's process, and the plugin that puts it into another one. */
const compositionRoot = "^src/(worker|plugin)\\.ts$";

/** Files of `from` may import, of our own code, only what is listed; packages are another rule's business. */
const ownCode = ({ name, from, allowed, comment }) => ({
  name,
  comment,
  severity: "error",
  from: { path: from },
  to: { path: "^src/", pathNot: allowed },
});

const forbidden = [
  {
    name: "no-cycles",
    comment: "A cycle has no reading order.",
    severity: "error",
    from: {},
    to: { circular: true },
  },
  {
    name: "no-unresolvable",
    comment: "An import that leads nowhere escapes all other rules.",
    severity: "error",
    from: {},
    to: { couldNotResolve: true },
  },
  {
    name: "src-without-development-dependencies",
    comment: "An installed package doesn't have them.",
    severity: "error",
    from: { path: "^src/" },
    to: { dependencyTypes: ["npm-dev"] },
  },
  {
    name: "contract-imports-zod-only",
    comment: "What crosses the wire depends on nothing but its schema language.",
    severity: "error",
    from: { path: "^src/contract/" },
    to: { pathNot: ["^src/contract/", "(^|/)node_modules/zod/"] },
  },
  {
    name: "names-import-nothing",
    comment: "Workflows import it at run time: whatever it imports gets into their bundle.",
    severity: "error",
    from: { path: "^src/contract/names\\.ts$" },
    to: {},
  },
  {
    name: "workflows-know-only-workflows",
    comment:
      "Deterministic code: the contract and Temporal's workflow packages; no activities, not even types.",
    severity: "error",
    from: { path: "^src/workflows/" },
    to: { pathNot: ["^src/workflows/", "^src/contract/", temporal("workflow", "common")] },
  },
  {
    name: "workflows-import-contract-as-types",
    comment: "Schemas in the bundle cost a megabyte per cached session, and a changed one breaks replay.",
    severity: "error",
    from: { path: "^src/workflows/" },
    to: {
      path: "^src/contract/",
      pathNot: "^src/contract/names\\.ts$",
      dependencyTypesNot: ["type-only"],
    },
  },
  ownCode({
    name: "activities-know-the-provider-interface",
    comment:
      "Activities get providers, tools and stores by parameter or interface; never the engine's own code.",
    from: "^src/activities/",
    allowed: ["^src/(activities|contract|tools|exec|artifacts)/", providerInterface],
  }),
  {
    name: "activities-without-workflow-or-client-packages",
    comment: "They run in a worker, and what they need of it comes by parameter.",
    severity: "error",
    from: { path: "^src/activities/" },
    to: { path: anyTemporal, pathNot: temporal("activity", "common") },
  },
  {
    name: "providers-know-no-other-provider",
    comment: "The interface, the contract, the guest's protocol, and their own folder.",
    severity: "error",
    from: { path: "^src/providers/([^/]+)/" },
    to: {
      path: "^src/",
      pathNot: [
        "^src/providers/$1/",
        "^src/(contract|exec|artifacts)/",
        "^src/providers/(?!registry)[^/]+\\.ts$",
      ],
    },
  },
  {
    name: "engine-side-without-temporal",
    comment: "Providers, tools, the exec engine and stores get an AbortSignal and plain values.",
    severity: "error",
    from: { path: "^src/(providers|tools|exec|artifacts)/" },
    to: { path: anyTemporal },
  },
  ownCode({
    name: "provider-interface-knows-contract-only",
    comment: "What all providers share names no engine; they come together in the worker.",
    from: "^src/providers/[^/]+\\.ts$",
    allowed: ["^src/contract/", "^src/providers/[^/]+\\.ts$"],
  }),
  ownCode({
    name: "tools-work-over-the-interface",
    comment: "One tool for all providers.",
    from: "^src/tools/",
    allowed: ["^src/(tools|contract|exec|artifacts)/", providerInterface],
  }),
  ownCode({
    name: "exec-works-over-the-interface",
    comment: "The same wherever the guest runs; of tools, it knows what a tool is and none by name.",
    from: "^src/exec/",
    allowed: ["^src/(exec|contract|artifacts)/", "^src/tools/tool\\.ts$", providerInterface],
  }),
  ownCode({
    name: "artifacts-know-contract-only",
    comment: "Clients use the store too, without workers and engines.",
    from: "^src/artifacts/",
    allowed: ["^src/(artifacts|contract)/", "^src/providers/errors\\.ts$"],
  }),
  ownCode({
    name: "client-knows-contract-and-artifacts",
    comment: "A client talks to Temporal and the artifact store, never to a worker's code.",
    from: "^src/client/",
    allowed: ["^src/(client|contract|artifacts)/"],
  }),
  ownCode({
    name: "dev-server-knows-config",
    comment: "It starts Temporal, and knows nothing of sessions.",
    from: "^src/dev-server/",
    allowed: ["^src/(dev-server|contract)/", "^src/config\\.ts$", "^src/client/holdfast-error\\.ts$"],
  }),
  ownCode({
    name: "config-knows-names-and-errors",
    comment: "Everybody may read the configuration, so it depends on hardly anything.",
    from: "^src/(config|host-id)\\.ts$",
    allowed: ["^src/contract/", "^src/(config|host-id)\\.ts$", "^src/client/holdfast-error\\.ts$"],
  }),
  ownCode({
    name: "cli-works-through-client-and-worker",
    comment: "A command is a client, or starts the worker as a whole.",
    from: "^src/cli/",
    allowed: [
      "^src/(cli|client|contract|dev-server|artifacts)/",
      "^src/(config|host-id|worker)\\.ts$",
      "^src/providers/(errors|labels)\\.ts$",
    ],
  }),
  {
    name: "only-the-worker-knows-everything",
    comment:
      "Providers, activities and workflows come together in one place; others may implement their types.",
    severity: "error",
    from: { path: "^src/[^/]+\\.ts$", pathNot: [compositionRoot, "^src/index\\.ts$"] },
    to: {
      path: "^src/(activities|providers|workflows|exec|tools|cli)/|^src/(worker|plugin|index)\\.ts$",
      dependencyTypesNot: ["type-only"],
    },
  },
];

module.exports = {
  forbidden,
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^dist/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default", "types"],
    },
  },
};
