import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "../../src/contract/parse.js";
import { changed, fixture, readJson, wireSchema, type Json } from "./fixtures.js";

/** One change to a good value, and the field that the refusal must name. */
interface Refused {
  readonly from: string;
  readonly at: (string | number)[];
  /** `null` takes the field away. */
  readonly value: Json;
  readonly field: string;
}

const schemas = readdirSync(`${import.meta.dirname}/refused`).map((file) => file.replace(/\.json$/, ""));

describe.each(schemas)("%s is refused", (schema) => {
  const cases = (readJson(`refused/${schema}.json`) as Refused[]).map((refused): [string, Refused] => [
    `${refused.at.join(".")} = ${show(refused.value)}`,
    refused,
  ]);

  it.each(cases)("with %s", (_title, { from, at, value, field }) => {
    const parsed = parse(wireSchema(schema), changed(fixture(schema, from), at, value), "value");
    expect(parsed).toMatchObject({
      ok: false,
      failure: { code: "invalid-request", field: `value.${field}` },
    });
    if (parsed.ok) return;
    expect(parsed.failure.message).toMatch(/: \S/);
    expect(parsed.failure.message).not.toMatch(/: Invalid input$/);
    expect(parsed.failure.hint).toContain(field);
  });
});

function show(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}... (${text.length})` : text;
}
