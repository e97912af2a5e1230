import { readdirSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "../../src/contract/parse.js";
import {
  checkAwait,
  checkCall,
  checkCallIdOf,
  checkExtend,
  checkNetwork,
  checkStop,
  type Checked,
} from "../../src/workflows/session/envelope.js";
import { changed, fixture, fixtures, readJson, wireSchema, type Json } from "./fixtures.js";

/** Workflow code checks messages by hand. What it lets through and what the schemas do must be the same. */
const checks: Record<string, (value: unknown) => Checked<unknown>> = {
  "call-tool": checkCall,
  "call-tool-update": checkCall,
  "await-call": checkAwait,
  "cancel-call": checkCallIdOf,
  stop: checkStop,
  extend: checkExtend,
  "set-network-policy": checkNetwork,
};
const names = Object.keys(checks);
const check = (name: string, value: Json): Checked<unknown> | undefined => checks[name]?.(value);

describe("the session's own check of a message", () => {
  const good = names.flatMap((name) =>
    fixtures(name).map(([title, value]): [string, string, Json] => [name, title, value]),
  );
  it.each(good)("%s: lets %s through", (name, _title, value) => {
    expect(check(name, value)).toMatchObject({ ok: true });
  });

  const bad = names
    .filter((name) => readdirSync(`${import.meta.dirname}/refused`).includes(`${name}.json`))
    .flatMap((name) =>
      (readJson(`refused/${name}.json`) as { from: string; at: (string | number)[]; value: Json }[]).map(
        ({ from, at, value }): [string, string, Json] => [
          name,
          `${at.join(".")} = ${JSON.stringify(value).slice(0, 40)}`,
          changed(fixture(name, from), at, value),
        ],
      ),
    );
  it.each(bad)("%s: refuses %s", (name, _title, value) => {
    expect(check(name, value)).toMatchObject({ ok: false, failure: { code: "invalid-request" } });
  });

  it("never throws, and lets nothing through that the schema refuses", () => {
    const value = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;
    fc.assert(
      fc.property(fc.constantFrom(...good), fc.nat(5), value, ([name, , sent], at, json) => {
        const key = Object.keys(sent as object)[at];
        const mutated = key === undefined ? json : changed(sent, [key], json);
        const checked = check(name, mutated);
        // A signal without an argument is the empty message.
        const message = mutated ?? {};
        if (checked?.ok === true)
          expect(parse(wireSchema(name), message, name).ok, JSON.stringify(message)).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });
});
