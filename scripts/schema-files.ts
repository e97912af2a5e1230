import { toWireJsonSchema, wireSchemas } from "../src/contract/wire-schemas.js";

/** Name and text of each file in `schemas/`. */
export function schemaFiles(): [name: string, text: string][] {
  return Object.entries(wireSchemas).map(([name, schema]) => [
    `${name}.json`,
    `${JSON.stringify(toWireJsonSchema(schema, name), null, 2)}\n`,
  ]);
}
