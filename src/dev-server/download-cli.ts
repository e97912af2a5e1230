import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { execa } from "execa";
import { z } from "zod";
import { cliVersion, fillCache } from "./cached-cli.js";

export interface FetchCliContext {
  readonly target: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress: (message: string) => void;
  /** Where Temporal's SDKs download from; another one in tests. */
  readonly downloadOrigin?: string;
}

const downloadInfoSchema = z.object({ archiveUrl: z.url(), fileToExtract: z.string().regex(/^[\w.-]+$/) });

/** From where every Temporal SDK takes its dev server, by the same protocol. */
export async function downloadCli(context: FetchCliContext): Promise<string> {
  const { downloadOrigin = "https://temporal.download", onProgress } = context;
  const platform = process.platform === "darwin" ? "darwin" : "linux";
  const arch = process.arch === "arm64" ? "arm64" : "amd64";
  const query = new URLSearchParams({ platform, arch, format: "tar.gz" });
  onProgress(`Asking ${downloadOrigin} for the Temporal CLI ${cliVersion}`);
  // A firewall that drops packets must not cost minutes when the next step may do.
  const info = await get(`${downloadOrigin}/cli/v${cliVersion}?${query.toString()}`, 10_000, context.signal);
  const { archiveUrl, fileToExtract } = downloadInfoSchema.parse(await info.json());
  return fillCache(context.target, async (scratchDir) => {
    onProgress(`Downloading ${archiveUrl}`);
    const archive = join(scratchDir, "archive.tar.gz");
    // 45 MB: minutes are fine on a slow line, an hour is a broken one.
    const response = await get(archiveUrl, 600_000, context.signal);
    if (response.body === null) throw new Error(`${archiveUrl} answered without a body`);
    await pipeline(Readable.fromWeb(response.body), createWriteStream(archive));
    await execa("tar", ["-xzf", archive, "-C", scratchDir, "--", fileToExtract], { timeout: 120_000 });
    return join(scratchDir, fileToExtract);
  });
}

async function get(url: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<Response> {
  const timeout = AbortSignal.timeout(timeoutMs);
  let response: Response;
  try {
    response = await fetch(url, {
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
  } catch (error) {
    // "fetch failed" alone tells nobody anything: the reason is in the cause.
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    throw new Error(`${new URL(url).host} can't be reached (${String(cause)})`, { cause: error });
  }
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response;
}
