/** Where things are inside a sandbox. The guest's file must be readable by everybody: it starts itself again. */
export const guestPath = "/usr/local/bin/holdfast-guest";
export const uploadsPath = "/mnt/session/uploads";
export const outputsPath = "/mnt/session/outputs";

/**
 * Processes and threads of the guest and of its channels, on top of what a session may have: commands at their
 * limit must not keep a kill from getting through.
 */
export const supervisorPids = 64;
