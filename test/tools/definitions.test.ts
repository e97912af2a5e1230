import { describe, expect, it } from "vitest";
import { toolNames } from "../../src/contract/names.js";
import { toolDefinitions } from "../../src/tools/definitions.js";
import { createTools } from "../../src/tools/index.js";

describe("tool definitions for models", () => {
  const definitions = toolDefinitions(createTools());

  it("has each tool of this release under a name of the contract", () => {
    const names = definitions.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(["bash", "read", "write", "ls", "edit", "find", "glob", "grep"]),
    );
    for (const name of names) expect(toolNames).toContain(name);
  });

  it.each(definitions)(
    "describes $name and its parameters as an object schema",
    ({ description, parameters }) => {
      expect(description.length).toBeGreaterThan(80);
      expect(parameters).toMatchObject({ type: "object", properties: expect.any(Object) as object });
      expect(parameters).not.toHaveProperty("$schema");
      expect(JSON.stringify(parameters)).not.toContain("undefined");
    },
  );

  it("names what is required and what is not", () => {
    const bash = definitions.find(({ name }) => name === "bash");
    expect(bash?.parameters.required).toEqual(["command"]);
    expect(definitions.find(({ name }) => name === "ls")?.parameters).not.toHaveProperty("required");
  });
});
