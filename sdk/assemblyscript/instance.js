// A plug-in as JavaScript, and what a host does with it before any call of its kind.
import { compile } from "./compile.js";
import { Frame } from "./frame.js";
import { upgraded } from "./upgrade.js";

/** What the plug-in refused: op is the record, accumulator, firing, pair or operation, undefined for arguments. */
export class Refusal extends Error {
  constructor(message, op) {
    super(message);
    this.op = op;
  }
}

/** How the plug-in broke down: its message and the op that it was working on. */
export class Trap extends Error {
  constructor(message, op, cause) {
    super(message, { cause });
    this.op = op;
  }
}

/**
 * Compiles the plug-in whose asconfig.json lies in dir, a path or a URL, and gives what
 * the twins take. It takes some seconds: once for all tests of a file.
 */
export async function load(dir) {
  const instantiate = await compile(dir);
  const instance = new Instance(instantiate);
  return { instantiate, manifest: JSON.parse(instance.text(instance.ask("tm_manifest"))) };
}

/** What plug-ins of a kind keep that have one sort of state. */
const ONLY_SORT = { aggregate: "accumulator", trigger: "window", watermark: "split" };

/** What the twins of all kinds share: a plug-in of one kind with a job's arguments. */
export class Driver {
  /** Throws a Refusal where the plug-in refuses the arguments. */
  constructor(plugin, kind, args) {
    this.plugin = plugin;
    this.kind = kind;
    this.spec = plugin.manifest[kind];
    if (!this.spec) throw new Error(`${plugin.manifest.name} has no member ${kind} in its manifest: it is of another kind`);
    const params = this.spec.params.map((p) => ({ ...p, nullable: true }));
    this.args = Object.fromEntries(params.map((p) => [p.name, args[p.name] ?? p.default]));
    for (const name of Object.keys(args)) {
      if (!params.some((p) => p.name === name)) throw new Error(`argument ${name} is not declared`);
    }
    for (const p of params) {
      if (p.required && this.args[p.name] == null) throw new Error(`argument ${p.name} is required`);
    }
    this.params = params;
    this.start();
  }

  /**
   * Upgrades what a plug-in of an older schema has kept, a Uint8Array. what says of which
   * sort it is: "accumulator", "key", "window" or "split"; only process functions have two.
   * Throws a Refusal where it is refused, and an Error where what comes of a state depends on
   * those before it.
   */
  upgrade(schema, old, what = ONLY_SORT[this.kind]) {
    return upgraded(this, schema, old, what);
  }

  /** An instance that has been configured. */
  start() {
    const instance = new Instance(this.plugin.instantiate);
    const frame = new Frame(instance);
    frame.columns(this.params, [this.args], "argument");
    try {
      frame.serve("tm_configure");
    } catch (e) {
      throw e instanceof Refusal ? new Refusal(e.message) : e;
    }
    return instance;
  }
}

/** A running module. */
export class Instance {
  constructor(instantiate) {
    this.log = "";
    this.exports = instantiate({
      env: { setTempRet0: (high) => { this.high = high; } },
      wasi_snapshot_preview1: { fd_write: (fd, parts, n, written) => this.write(fd, parts, n, written) },
    });
    this.guard(() => this.exports._initialize());
    [this.arena, this.room] = this.ask("tm_arena");
  }

  /** The module's memory, which moves when it grows. */
  get memory() {
    return new DataView(this.exports.memory.buffer);
  }

  bytes(at, size) {
    return new Uint8Array(this.exports.memory.buffer, at, size);
  }

  text([at, size]) {
    return new TextDecoder("utf-8", { fatal: true }).decode(this.bytes(at, size));
  }

  /** Calls an export that answers address << 32 | size. */
  ask(name) {
    const size = this.guard(() => this.exports[name]()) >>> 0;
    return [this.high >>> 0, size];
  }

  /** Turns what breaks down into a Trap with what was printed before. */
  guard(run, op) {
    try {
      return run();
    } catch (e) {
      throw new Trap(this.log.trimEnd() || `trap: ${e.message}`, op?.(), e);
    }
  }

  write(fd, parts, n, written) {
    if (fd !== 1 && fd !== 2) return 8; // EBADF
    let all = 0;
    for (let i = 0; i < n; i++) {
      const at = this.memory.getUint32(parts + 8 * i, true), size = this.memory.getUint32(parts + 8 * i + 4, true);
      this.log += new TextDecoder().decode(this.bytes(at, size));
      all += size;
    }
    this.memory.setUint32(written, all, true);
    return 0;
  }
}
