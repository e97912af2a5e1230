import { readFileSync } from "node:fs";
import type { z } from "zod";
import { wireSchemas } from "../../src/contract/wire-schemas.js";

const folder = import.meta.dirname;

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

export const schemaNames = Object.keys(wireSchemas);

export function wireSchema(name: string): z.ZodType {
  const schema = (wireSchemas as Readonly<Record<string, z.ZodType>>)[name];
  if (schema === undefined) throw new Error(`no wire schema ${name}`);
  return schema;
}

/** Values as they cross the wire, by the name of the case. These files pin the format. */
export function fixtures(schema: string): [name: string, value: Json][] {
  return Object.entries(readJson(`fixtures/${schema}.json`) as JsonObject);
}

export function fixture(schema: string, name: string): Json {
  const found = fixtures(schema).find(([key]) => key === name);
  if (found === undefined) throw new Error(`no fixture "${name}" in ${schema}.json`);
  return found[1];
}

export function readJson(path: string): unknown {
  return JSON.parse(readFileSync(`${folder}/${path}`, "utf8"));
}

/** A copy in which the value at `path` is another one; `null` takes it away. */
export function changed(value: Json, path: readonly (string | number)[], to: Json): Json {
  const [key, ...rest] = path;
  if (key === undefined) return to;
  if (Array.isArray(value)) {
    return value.map((entry, index) => (index === key ? changed(entry, rest, to) : entry));
  }
  const object = typeof value === "object" && value !== null ? value : {};
  return { ...object, [key]: changed(object[key] ?? null, rest, to) };
}
