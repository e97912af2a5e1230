/**
 * How long the engine may take. Reading is instant even on a busy machine; creating and removing wait for disks
 * and for the kernel to let go of mounts, so these are limits against a stuck engine, not expectations.
 */
export const engineTimeouts = {
  readMs: 30_000,
  createMs: 120_000,
  startMs: 60_000,
  removeMs: 60_000,
  networkMs: 30_000,
  pullMs: 30 * 60_000,
  commitMs: 10 * 60_000,
  setupMs: 60 * 60_000,
} as const;
