import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export interface SourceFile {
  /** Relative to the package. */
  readonly path: string;
  readonly content: string;
}

/** The source of an installed dependency: input that nobody made up for the occasion. */
export async function readSourceTree(packageName: string): Promise<SourceFile[]> {
  const root = dirname(fileURLToPath(import.meta.resolve(packageName)));
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    files.sort().map(async (file) => ({ path: relative(root, file), content: await readFile(file, "utf8") })),
  );
}

/** As `sha256sum` of all files, in byte order of their paths, once more through `sha256sum`. */
export function treeHash(files: readonly SourceFile[], prefix: string): string {
  const sums = files
    .map(({ path, content }) => ({ path: `${prefix}/${path}`, sum: sha256(content) }))
    .sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
    .map(({ path, sum }) => `${sum}  ${path}\n`);
  return sha256(sums.join(""));
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
