/** Signals a detached child's whole group: a wrapper script's own child would keep the pipes open otherwise. */
export function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Gone already, which is what was wanted.
  }
}
