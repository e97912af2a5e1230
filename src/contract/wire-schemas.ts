import { z } from "zod";
import {
  answerSchema,
  awaitCallSchema,
  callRequestSchema,
  callSummarySchema,
  callUpdateSchema,
} from "./call.js";
import {
  acceptedSchema,
  cancelCallSchema,
  collectResultSchema,
  emptySchema,
  extendSchema,
  setNetworkPolicySchema,
  stopSchema,
  uploadResultSchema,
  uploadSchema,
} from "./messages.js";
import { artifactFileSchema, artifactRefSchema, failureSchema } from "./refs.js";
import { artifactSchema, capabilitiesSchema, handleSchema } from "./sandbox.js";
import { sessionSpecSchema } from "./spec.js";
import { stateSchema, summarySchema } from "./state.js";
import { toolSchemas } from "./tools.js";

/** Every shape that crosses the wire, by the name of its file in `schemas/`. */
export const wireSchemas = {
  "session-spec": sessionSpecSchema,
  "session-summary": summarySchema,
  "session-state": stateSchema,
  capabilities: capabilitiesSchema,
  "call-tool": callRequestSchema,
  "call-tool-update": callUpdateSchema,
  "await-call": awaitCallSchema,
  answer: answerSchema,
  "call-summaries": z.array(callSummarySchema),
  "cancel-call": cancelCallSchema,
  stop: stopSchema,
  resume: emptySchema,
  delete: emptySchema,
  extend: extendSchema,
  "set-network-policy": setNetworkPolicySchema,
  accepted: acceptedSchema,
  upload: uploadSchema,
  "upload-result": uploadResultSchema,
  "collect-outputs": emptySchema,
  "collect-outputs-result": collectResultSchema,
  "artifact-ref": artifactRefSchema,
  "artifact-file": artifactFileSchema,
  failure: failureSchema,
  handle: handleSchema,
  "template-artifact": artifactSchema,
  ...toolWireSchemas("input"),
  ...toolWireSchemas("result"),
} as const satisfies Readonly<Record<string, z.ZodType>>;

function toolWireSchemas(side: "input" | "result"): Record<`tool-${string}`, z.ZodType> {
  const entries = Object.entries(toolSchemas).map(([tool, schemas]) => [
    `tool-${tool}-${side}`,
    schemas[side],
  ]);
  return Object.fromEntries(entries) as Record<`tool-${string}`, z.ZodType>;
}

/**
 * JSON Schema (2020-12) of a wire shape, for clients in other languages. Optional fields also accept `null`,
 * unknown fields are allowed: both as the contract reads them. Rules that JSON Schema can't say (sizes in
 * bytes, either-or) are checked by the host only.
 */
export function toWireJsonSchema(schema: z.ZodType, title: string): JsonSchema {
  const generated: JsonSchema = z.toJSONSchema(schema, { io: "input" });
  return { title, ...acceptNulls(generated) };
}

type JsonSchema = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The same JSON Schema, in which `null` stands for an absent field wherever a field may be absent. */
function acceptNulls(schema: JsonSchema): JsonSchema {
  const entries = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (keyword === "properties" && isObject(value)) {
      const required = Array.isArray(schema.required) ? schema.required : [];
      return [keyword, mapValues(value, (property, name) => nullable(property, !required.includes(name)))];
    }
    // The entry of a record that is null is as absent as a field.
    if (keyword === "additionalProperties") return [keyword, nullable(value, "propertyNames" in schema)];
    if (Array.isArray(value)) return [keyword, value.map((entry) => nullable(entry, false))];
    return [keyword, nullable(value, false)];
  });
  return Object.fromEntries(entries);
}

function nullable(schema: unknown, mayBeAbsent: boolean): unknown {
  if (!isObject(schema)) return schema;
  const inner = acceptNulls(schema);
  const acceptsAnything = Object.keys(inner).length === 0;
  return mayBeAbsent && !acceptsAnything ? { anyOf: [inner, { type: "null" }] } : inner;
}

function mapValues(object: JsonSchema, change: (value: unknown, name: string) => unknown): JsonSchema {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]));
}
