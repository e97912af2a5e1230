import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "../../src/contract/parse.js";
import { fixtures, schemaNames, wireSchema, type Json } from "./fixtures.js";

const cases = schemaNames.flatMap((schema) =>
  fixtures(schema).map(([name, value]): [string, string, Json] => [schema, name, value]),
);

describe("fixtures pin the wire", () => {
  it("has a file for each shape, and no other", () => {
    const files = readdirSync(`${import.meta.dirname}/fixtures`).map((file) => file.replace(/\.json$/, ""));
    expect(files.sort()).toEqual([...schemaNames].sort());
  });

  it.each(cases)("%s: %s comes through as it is", (schema, _name, value) => {
    expect(parse(wireSchema(schema), value, schema)).toEqual({ ok: true, value });
  });

  it.each(cases)("%s: %s with unknown fields at every level is read without them", (schema, _name, value) => {
    expect(parse(wireSchema(schema), withExtras(value, schema), schema)).toEqual({ ok: true, value });
  });

  it.each(schemaNames)("%s: every field occurs in a fixture", (schema) => {
    const used = new Set(fixtures(schema).flatMap(([, value]) => [...paths(value)]));
    expect(fieldsOf(wireSchema(schema)).filter((field) => !used.has(field))).toEqual([]);
  });
});

/** Fields whose names are the sender's: an extra entry there is data. */
const records = new Set(["env", "secrets", "labels", "toolCounts", "input", "result", "data"]);

function withExtras(value: Json, key: string): Json {
  if (Array.isArray(value)) return value.map((entry) => withExtras(entry, key));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, entry]) => [
    name,
    records.has(name) ? entry : withExtras(entry, name),
  ]);
  return {
    ...(Object.fromEntries(entries) as Record<string, Json>),
    fieldOfALaterRelease: { nested: [null, 1] },
  };
}

/** Dotted names of every field of a value; entries of arrays share one name. */
function* paths(value: Json, at = ""): Generator<string> {
  if (Array.isArray(value)) for (const entry of value) yield* paths(entry, at);
  else if (typeof value === "object" && value !== null) {
    for (const [name, entry] of Object.entries(value)) {
      yield `${at}.${name}`;
      yield* paths(entry, `${at}.${name}`);
    }
  }
}

interface SchemaNode {
  properties?: Record<string, SchemaNode>;
  items?: SchemaNode;
  anyOf?: SchemaNode[];
  oneOf?: SchemaNode[];
}

function fieldsOf(schema: ReturnType<typeof wireSchema>): string[] {
  return [...fields(schema.toJSONSchema({ io: "input" }) as SchemaNode)];
}

function* fields(node: SchemaNode, at = ""): Generator<string> {
  for (const [name, property] of Object.entries(node.properties ?? {})) {
    yield `${at}.${name}`;
    yield* fields(property, `${at}.${name}`);
  }
  for (const inner of [node.items ?? {}, ...(node.anyOf ?? []), ...(node.oneOf ?? [])]) {
    if (Object.keys(inner).length > 0) yield* fields(inner, at);
  }
}
