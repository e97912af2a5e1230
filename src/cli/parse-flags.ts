import { readFile } from "node:fs/promises";
import { HoldfastError } from "../client/index.js";

/** A duration in milliseconds: plain, or with ms, s, m, h. */
export function parseDuration(value: string | undefined, flag: string): number | undefined {
  if (value === undefined) return undefined;
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(value);
  const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[match?.[2] ?? "ms"];
  if (match === null || unitMs === undefined) {
    throw invalid(flag, `${JSON.stringify(value)} is no duration`, "Write 500ms, 30s, 10m or 2h.");
  }
  return Math.round(Number(match[1]) * unitMs);
}

export function parseCount(value: string | undefined, flag: string): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  throw invalid(flag, `${JSON.stringify(value)} is no whole number`, "Write digits only.");
}

export function parseJson(text: string, flag: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(flag, (error as Error).message, "Write valid JSON; quote it for the shell.");
  }
}

export async function readJsonFile(path: string, flag: string): Promise<unknown> {
  return parseJson((await readBytes(path, flag)).toString("utf8"), flag);
}

/** A file's bytes; `-` is stdin. */
export async function readBytes(path: string, flag: string): Promise<Buffer> {
  if (path === "-") return readStdin();
  try {
    return await readFile(path);
  } catch (error) {
    throw invalid(flag, (error as Error).message, "Name a file that can be read, or - for stdin.");
  }
}

export async function readStdin(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** `NAME=value`, separated by commas in one flag. */
export function parsePairs(value: string | undefined, flag: string): Record<string, string> | undefined {
  if (value === undefined) return undefined;
  const pairs = value.split(",").map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1)
      throw invalid(flag, `${JSON.stringify(pair)} is not NAME=value`, "Write NAME=value,OTHER=value.");
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  return Object.fromEntries(pairs);
}

function invalid(flag: string, problem: string, hint: string): HoldfastError {
  return new HoldfastError("invalid-request", `${flag}: ${problem}`, { field: flag, hint });
}
