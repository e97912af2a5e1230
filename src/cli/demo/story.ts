import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "../../client/index.js";
import type { SessionSpec } from "../../contract/spec.js";
import { waitUntilRunning } from "../wait-until-running.js";
import { killInMidCall } from "./kill-in-mid-call.js";
import { leftovers } from "./leftovers.js";
import { readSourceTree, treeHash, type SourceFile } from "./source-tree.js";
import type { Surroundings } from "./surroundings.js";
import { expect, unexpected, type Transcript } from "./transcript.js";

const edited = "execa/lib/terminate/timeout.js";

/** The main job on real input, with a worker that dies in the middle of it. */
export async function tellStory(
  surroundings: Surroundings,
  spec: SessionSpec,
  log: Transcript,
): Promise<void> {
  const { client } = surroundings;
  const files = await readSourceTree("execa");
  let worker = await surroundings.startWorker();
  let session!: Session;

  await log.step(`start a session on ${spec.provider}`, async () => {
    session = await client.sessions.start(spec, { sessionId: "demo" });
    await waitUntilRunning(session);
    const { host, generation } = await session.state();
    return `running on ${host ?? "?"}, generation ${generation?.number ?? "?"}`;
  });
  await log.step("write the source of execa into it", async () => {
    await writeAll(session, files, log);
    const command = "find execa -type f | LC_ALL=C sort | xargs sha256sum | sha256sum";
    const sum = await log.bash(session, command);
    expect(sum.startsWith(treeHash(files, "execa")), "the tree in the session is the tree on disk");
    return `${files.length} files, hash of the tree is equal on both sides`;
  });
  await log.step("explore", async () => {
    await log.bash(session, "ls execa/lib");
    await log.bash(session, "find execa/lib -name '*.js' | xargs wc -l | sort -rn | head -n 4");
    const hits = await log.bash(session, "grep -rln 'AbortController' execa/lib | sort");
    return `${hits.trim().split("\n").length} files use AbortController`;
  });
  const after = await editOnce(session, log);
  await log.step("kill the worker in the middle of a call", async () => {
    const result = await killInMidCall({ session, worker, startNext: () => surroundings.startWorker(), log });
    worker = result.nextWorker;
    return result.text;
  });
  await log.step("stop, resume", async () => {
    await session.stop({ wait: true });
    log.say(`stopped; the state says: ${(await session.state()).status}`);
    await sleep(200);
    await session.resume({ wait: true });
    return `the state says: ${(await session.state()).status}`;
  });
  await log.step("read the edited file back", async () => {
    log.count(1);
    const answer = await session.read(edited);
    if (answer.result === undefined) throw unexpected(`read ${edited}`, answer);
    expect(answer.result.content.text === after, "the edited file came through death, stop and resume");
    return `${edited}: ${answer.result.content.totalBytes} bytes, as edited, generation ${answer.generation ?? "?"}`;
  });
  await log.step("delete", async () => {
    const summary = await session.delete({ wait: true });
    const left = await leftovers(surroundings, spec.provider);
    expect(left.length === 0, `nothing is left (${left.join(", ")})`);
    return `${summary.calls} calls answered, cleanup ${summary.cleanup}, nothing left of the session`;
  });
}

/** A few at once, as an agent's tools do. */
async function writeAll(session: Session, files: readonly SourceFile[], log: Transcript): Promise<void> {
  const queue = [...files];
  const writer = async (): Promise<void> => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      log.count(1);
      const answer = await session.write({ path: `execa/${file.path}`, content: file.content });
      if (answer.outcome?.kind !== "ok") throw unexpected(`write ${file.path}`, answer);
    }
  };
  await Promise.all(Array.from({ length: 4 }, writer));
}

async function editOnce(session: Session, log: Transcript): Promise<string> {
  let after = "";
  await log.step("edit a file", async () => {
    log.count(2);
    const { result } = await session.read(edited);
    const before = result?.content.text ?? "";
    after = before.replaceAll("a non-negative integer", "milliseconds, 0 or more");
    expect(before !== "" && after !== before, `${edited} has something to edit`);
    const answer = await session.write({ path: edited, content: after });
    if (answer.outcome?.kind !== "ok") throw unexpected(`write ${edited}`, answer);
    await log.bash(session, `grep -n milliseconds ${edited}`);
    return `${edited}: ${before.length} -> ${after.length} characters`;
  });
  return after;
}
