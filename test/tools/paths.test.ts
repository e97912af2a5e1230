import { describe, expect, it } from "vitest";
import { commandRoots, fileRoots, resolvePath } from "../../src/tools/paths.js";

const resolve = (path: string, { workspace = "/workspace", roots = fileRoots(workspace) } = {}) =>
  resolvePath(path, { workspace, roots, field: "input.path" });

describe("paths of tools", () => {
  it.each([
    [".", "/workspace"],
    ["a/b", "/workspace/a/b"],
    ["./a//b/", "/workspace/a/b"],
    ["a/../b", "/workspace/b"],
    ["..foo", "/workspace/..foo"],
    ["...", "/workspace/..."],
    ["/workspace", "/workspace"],
    ["/workspace/../workspace/x", "/workspace/x"],
    ["-rf", "/workspace/-rf"],
    [" lead", "/workspace/ lead"],
    ["/mnt/session/uploads/data.csv", "/mnt/session/uploads/data.csv"],
    ["/mnt/session/outputs", "/mnt/session/outputs"],
    ["../mnt/session/outputs/x", "/mnt/session/outputs/x"],
    ["skills/s/SKILL.md", "/workspace/skills/s/SKILL.md"],
  ])("takes %j for %s", (path, expected) => {
    expect(resolve(path)).toBe(expected);
  });

  it.each([
    "../x",
    "a/../../x",
    "/workspace/../etc/passwd",
    "/workspace2/x",
    "../workspace2",
    "/etc/passwd",
    "/",
    "..",
    "/mnt/session",
    "/mnt/session/uploads2",
    "/tmp/x",
    "a\0b",
    "/workspace/\0",
  ])("B46 [file-symlink] denies %j", (path) => {
    expect(() => resolve(path)).toThrow(expect.objectContaining({ code: "denied", field: "input.path" }));
  });

  it("lets commands start in /tmp, and files not", () => {
    expect(resolve("/tmp/x", { roots: commandRoots("/workspace") })).toBe("/tmp/x");
    expect(() => resolve("/etc", { roots: commandRoots("/workspace") })).toThrow();
  });

  it("follows a configured workspace, skills stay where they are", () => {
    expect(resolve("a", { workspace: "/home/me/" })).toBe("/home/me/a");
    expect(resolve("/workspace/skills/s", { workspace: "/home/me" })).toBe("/workspace/skills/s");
    expect(() => resolve("/workspace/x", { workspace: "/home/me" })).toThrow();
  });
});
