import { readFileSync, readdirSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { schemaFiles } from "../../scripts/schema-files.js";
import { changed, fixture, fixtures, schemaNames, type Json } from "./fixtures.js";

const folder = new URL("../../schemas/", import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, folder), "utf8");
// The contract gives each date-time a pattern of its own, so formats need no plugin.
const ajv = new Ajv2020({ strict: true, strictRequired: false, validateFormats: false });
const accepts = (schema: string): ((value: unknown) => boolean) => {
  const validate =
    ajv.getSchema(schema) ?? ajv.compile({ ...(JSON.parse(read(`${schema}.json`)) as object), $id: schema });
  return (value) => validate(value) as boolean;
};

describe("schemas/*.json", () => {
  it("are what the contract says now (npm run schemas)", () => {
    expect(Object.fromEntries(readdirSync(folder).map((file) => [file, read(file)]))).toEqual(
      Object.fromEntries(schemaFiles()),
    );
  });

  const cases = schemaNames.flatMap((schema) =>
    fixtures(schema).map(([name, value]): [string, string, Json] => [schema, name, value]),
  );
  it.each(cases)("%s accepts %s", (schema, _name, value) => {
    expect(accepts(schema)(value)).toBe(true);
  });

  it("take null for an absent field, and for an entry of a record", () => {
    const spec = fixture("session-spec", "everything");
    for (const field of Object.keys(spec as object).filter((name) => name !== "provider")) {
      expect(accepts("session-spec")(changed(spec, [field], null)), field).toBe(true);
    }
    for (const path of [
      ["timeouts", "idleMs"],
      ["template", "image"],
      ["env", "X"],
      ["labels", "x"],
    ]) {
      expect(accepts("session-spec")({ ...(changed(spec, path, null) as object) }), path.join(".")).toBe(
        true,
      );
    }
    expect(accepts("session-spec")(changed(spec, ["provider"], null))).toBe(false);
    expect(
      accepts("call-tool")(changed(fixture("call-tool", "everything"), ["replyTo", "signal"], null)),
    ).toBe(false);
  });

  it("allow fields they don't know", () => {
    expect(accepts("answer")({ ...(fixture("answer", "exited") as object), later: 1 })).toBe(true);
  });

  it.each([
    ["session-spec", "everything", ["timeouts", "idleMs"], 0],
    ["session-spec", "everything", ["provider"], "podman"],
    ["session-spec", "everything", ["labels", "dev holdfast"], "x"],
    ["call-tool", "everything", ["callId"], ""],
    ["call-tool-update", "everything", ["waitMs"], 30_001],
    ["answer", "exited", ["outcome", "kind"], "finished"],
    ["answer", "exited", ["queuedAt"], "yesterday"],
    ["artifact-ref", "bare", ["key"], "../x"],
  ] as const)("%s refuses %s with %j = %j", (schema, name, path, value) => {
    expect(accepts(schema)(changed(fixture(schema, name), path, value))).toBe(false);
  });
});
