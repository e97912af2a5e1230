import { describe, expect, it } from "vitest";
import { resolveSpec, type SessionSpec } from "../../src/contract/spec.js";
import { generationKey } from "../../src/providers/generation-key.js";
import { templateKey } from "../../src/providers/template-key.js";

const keyOf = (changes: Partial<SessionSpec>, guestHash?: string): string =>
  templateKey({
    provider: "docker",
    spec: resolveSpec({ provider: "docker", ...changes }),
    ...(guestHash === undefined ? {} : { guestHash }),
  });

describe("template key", () => {
  it("is the same for the same content in any order, and is pinned", () => {
    const one = keyOf({ template: { image: "base", env: { A: "1", B: "2" }, setup: ["x"] } });
    const two = keyOf({ template: { setup: ["x"], env: { B: "2", A: "1" }, image: "base" } });
    expect(two).toBe(one);
    expect(one).toBe("05c59192acda9f4aba7c4507");
  });

  it("changes with everything that decides what is in the template", () => {
    const ref = { key: "k", sha256: "a".repeat(64), sizeBytes: 1 };
    const keys = [
      keyOf({}),
      keyOf({}, "guest"),
      keyOf({ template: { image: "base" } }),
      keyOf({ template: { image: "other" } }),
      keyOf({ template: { dockerfile: { text: "FROM base" } } }),
      keyOf({ template: { dockerfile: { text: "FROM base", context: ref } } }),
      keyOf({ template: { setup: ["a", "b"] } }),
      keyOf({ template: { setup: ["b", "a"] } }),
      keyOf({ template: { setup: ["a,b"] } }),
      keyOf({ template: { env: { A: "1" } } }),
      keyOf({ template: { resources: { workspace: ref } } }),
      keyOf({ template: { resources: { skills: ref } } }),
      keyOf({ template: { revision: "2" } }),
      keyOf({ workspace: "/work" }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("does not change with what a session is given later, nor with how the image is pulled", () => {
    const base = keyOf({ template: { image: "base" } });
    expect(keyOf({ template: { image: "base", pullPolicy: "always" } })).toBe(base);
    expect(keyOf({ template: { image: "base" }, env: { A: "1" }, network: "allow-all" })).toBe(base);
  });
});

describe("generation key", () => {
  const base = {
    session: { sessionId: "s", runId: "r" },
    generation: 1,
    templateKey: "t",
    spec: resolveSpec({ provider: "docker", env: { A: "1" } }),
  };

  it("tells sessions, generations, templates and environments apart, but not networks", () => {
    const keys = [
      base,
      { ...base, session: { sessionId: "s", runId: "r2" } },
      { ...base, generation: 2 },
      { ...base, templateKey: "t2" },
      { ...base, spec: resolveSpec({ provider: "docker", env: { A: "2" } }) },
      { ...base, spec: resolveSpec({ provider: "docker", secrets: { A: { from: "env", key: "A" } } }) },
    ].map(generationKey);
    expect(new Set(keys).size).toBe(keys.length);
    const open = resolveSpec({ provider: "docker", env: { A: "1" }, network: "allow-all" });
    expect(generationKey({ ...base, spec: open })).toBe(generationKey(base));
  });
});
