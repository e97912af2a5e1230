import { describe, expect, it } from "vitest";
import { createFakeProvider } from "../../src/providers/fake/provider.js";
import { createProviderRegistry } from "../../src/providers/registry.js";

describe("provider registry", () => {
  it("finds a provider by name, and names what this host has", () => {
    const fake = createFakeProvider({ hostId: "h" });
    const registry = createProviderRegistry([fake]);
    expect(registry.get("fake")).toBe(fake);
    expect(() => registry.get("docker")).toThrow(
      expect.objectContaining({
        code: "unsupported",
        message: expect.stringContaining("has fake") as string,
      }),
    );
    expect(() => createProviderRegistry([fake, fake])).toThrow(
      expect.objectContaining({ code: "invalid-request" }),
    );
  });
});
