import { posix } from "node:path";
import {
  getCommandNames,
  InMemoryFs,
  MountableFs,
  ReadWriteFs,
  type FileContent,
  type IFileSystem,
} from "just-bash";

/** Files above this are refused by the interpreter, which holds a whole file in memory at a time. */
const maxFileBytes = 256 * 1024 ** 2;

/**
 * What a command sees: the session's directory, with the parts of a system that scripts expect (commands in
 * /bin, devices, /proc) laid over it from memory, fresh for each call. Nothing of them is ever on disk.
 */
export function createSandboxFs(root: string): IFileSystem {
  const fs = new MountableFs({ base: new SessionDirectory(root) });
  const commands = Object.fromEntries(
    getCommandNames().map((name) => [
      `/${name}`,
      { content: `#!/bin/bash\n# Built-in command: ${name}\n`, mode: 0o755 },
    ]),
  );
  fs.mount("/bin", new InMemoryFs(commands));
  fs.mount("/usr/bin", new InMemoryFs(commands));
  fs.mount("/dev", new Devices());
  fs.mount(
    "/proc",
    new InMemoryFs({
      "/version": "Linux version 5.15.0-generic (just-bash)\n",
      "/self/exe": "/bin/bash",
      "/self/cmdline": "bash\0",
      "/self/comm": "bash\n",
    }),
  );
  return fs;
}

/**
 * The session's directory on the host. Links in it are always stored relative: an absolute one would be stored
 * with the directory's present place on the host, and break (or leave) when the directory is copied or moved.
 */
class SessionDirectory extends ReadWriteFs {
  constructor(root: string) {
    super({ root, allowSymlinks: true, maxFileReadSize: maxFileBytes, maxCopySize: 0 });
  }

  override symlink(target: string, linkPath: string): Promise<void> {
    if (!target.startsWith("/")) return super.symlink(target, linkPath);
    const from = posix.dirname(posix.normalize(linkPath));
    return super.symlink(posix.relative(from, posix.normalize(target)) || ".", linkPath);
  }
}

/** /dev/null and its like swallow what is written: a plain file would hand it to the next reader. */
class Devices extends InMemoryFs {
  constructor() {
    super({ "/null": "", "/zero": "", "/stdin": "", "/stdout": "", "/stderr": "", "/fd/.keep": "" });
  }

  override async writeFile(path: string, content: FileContent): Promise<void> {
    if (!isSink(path)) await super.writeFile(path, content);
  }

  override async appendFile(path: string, content: FileContent): Promise<void> {
    if (!isSink(path)) await super.appendFile(path, content);
  }
}

const isSink = (path: string): boolean => path === "/null" || path === "/zero";
