// The native twin: a host in miniature, which drives a plug-in in unit tests that node
// runs. It writes the frames of abi/SPEC.md, each call as on a fresh instance; the
// plug-in's code and the SDK's are what runs in a host, as JavaScript (see compile.js).
import { compile } from "./compile.js";
import { laws } from "./laws.js";

const HEADER = 96, DESCRIPTOR = 32, NONE = 0xFFFFFFFF, NAMES = ["size", "rows", "groups", "cols", "ncols", "group", "acc", "from",
  "outcols", "noutcols", "out", "out_cap", "op", "done", "out_used"];
const KINDS = { int64: 1, float64: 2, bool: 3, string: 4, timestamp: 5 };
const OK = 0, REFUSED = 1, OUTPUT_FULL = 2;

/** What the plug-in refused: op is the record or accumulator, undefined for arguments. */
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
 * Twin takes. It takes some seconds: once for all tests of a file.
 */
export async function load(dir) {
  const instantiate = await compile(dir);
  const instance = new Instance(instantiate);
  return { instantiate, manifest: JSON.parse(instance.text(instance.ask("tm_manifest"))) };
}

/**
 * Drives a plug-in with a job's arguments. Records and arguments are objects by the name
 * of the column; what is left out, null or undefined is null. int64 takes a bigint or a
 * whole number, float64 a number, timestamp also a Date. Result rows are such objects
 * too, without the columns that are null; int64 and timestamp are bigints there.
 * Accumulators are Uint8Array, as the host keeps them.
 */
export class Twin {
  /** Throws a Refusal where the plug-in refuses the arguments. */
  constructor(plugin, args = {}) {
    this.plugin = plugin;
    this.spec = plugin.manifest.aggregate;
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

  /** Folds records into an accumulator, null for a fresh one, and gives the new one. */
  add(acc, ...records) {
    const rows = records.filter((r) => this.spec.inputs.every((c) => c.nullable || r[c.name] != null));
    const group = rows.map(() => 0);
    if (this.spec.accumulator.width > 0) {
      return this.call("add", { rows, group, accs: [acc ?? this.create()] }).accs[0];
    }
    const part = this.call("add", { rows, group, accs: [null] }).accs[0];
    return acc ? this.merge(acc, part) : part;
  }

  /** A fresh accumulator. */
  create() {
    return this.call("create", { accs: [null] }).accs[0];
  }

  /** Folds the records behind from into acc and gives the new accumulator. */
  merge(acc, from) {
    return this.call("merge", { accs: [acc ?? this.create()], from: [from ?? this.create()] }).accs[0];
  }

  /** The result row of an accumulator, null for a fresh one. */
  result(acc) {
    return this.call("result", { accs: [acc ?? this.create()] }).rows[0];
  }

  /**
   * Checks the laws of aggregates (abi/SPEC.md, section 6) on some records, and what the
   * Spec promises beyond them. Throws an Error that says what is broken. A host believes
   * a Spec; a plug-in's tests should not.
   */
  laws(...records) {
    laws(this, records);
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

  /**
   * Makes one call on a fresh instance. accs are as many as there are groups; room is
   * the bytes of the output area, by default all that is left of the arena. Gives status
   * and done, and what the frame carries back: accs or rows, as many as are done.
   */
  call(op, { rows = [], group = [], accs = [], from = [], room }) {
    const frame = new Frame(this.start()), { inputs, outputs, accumulator: { width } } = this.spec;
    frame.set("groups", accs.length);
    if (op === "add") {
      frame.columns(inputs, rows, "record");
      frame.set("group", frame.area(4 * group.length));
      group.forEach((g, i) => frame.u32(frame.get("group") + 4 * i, g));
    }
    if (width > 0 || op === "merge" || op === "result") frame.set("acc", frame.accs(accs, width));
    if (op === "merge") frame.set("from", frame.accs(from, width));
    if (op === "result") frame.outputs(outputs);
    const status = frame.serve("tm_aggregate_" + op, room);
    const done = status === OUTPUT_FULL ? frame.get("done") : accs.length;
    if (op === "result") return { status, done, rows: frame.rows(outputs, done), accs: width > 0 ? frame.fixed(accs.length, width) : [] };
    return { status, done, accs: width > 0 ? frame.fixed(accs.length, width) : frame.answered(done) };
  }
}

/** A running module. */
class Instance {
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

/** One frame at the start of an instance's arena. */
class Frame {
  constructor(instance) {
    this.instance = instance;
    this.at = HEADER; // where the next area starts
    instance.bytes(instance.arena, HEADER).fill(0);
    this.set("op", NONE);
  }

  get(name) {
    return this.load(4 * NAMES.indexOf(name));
  }

  set(name, value) {
    this.u32(4 * NAMES.indexOf(name), value);
  }

  load(off) {
    return this.instance.memory.getUint32(this.instance.arena + off, true);
  }

  u32(off, value) {
    this.instance.memory.setUint32(this.instance.arena + off, value, true);
  }

  bytes(off, size) {
    return this.instance.bytes(this.instance.arena + off, size);
  }

  /** Takes n bytes, zeroed. */
  area(n) {
    const off = this.at;
    this.at = Math.ceil((off + n) / 8) * 8;
    if (this.at > this.instance.room) throw new Error("the records of a test do not fit into the arena");
    this.bytes(off, this.at - off).fill(0);
    return off;
  }

  columns(columns, rows, what) {
    rows.forEach((row, i) => {
      for (const name of Object.keys(row)) {
        if (!columns.some((c) => c.name === name)) throw new Error(`${what} ${i}: ${name} is not declared`);
      }
    });
    this.set("rows", rows.length);
    this.set("ncols", columns.length);
    this.set("cols", this.area(DESCRIPTOR * columns.length));
    columns.forEach((c, i) => this.column(this.get("cols") + DESCRIPTOR * i, c, rows, what));
  }

  column(d, c, rows, what) {
    const n = rows.length, kind = KINDS[c.type];
    const validity = c.nullable ? this.area(8 * Math.ceil(n / 64)) : 0;
    const data = this.area(kind === KINDS.string ? 4 * (n + 1) : kind === KINDS.bool ? n : 8 * n);
    const texts = [];
    let end = 0;
    rows.forEach((row, i) => {
      const v = row[c.name];
      if (v != null) {
        const bytes = encode(c.type, v);
        if (!bytes) throw new Error(`${what} ${i}: ${c.name} is ${typeof v} ${v}, not ${c.type}`);
        if (kind === KINDS.string) {
          texts.push(bytes);
          end += bytes.length;
        } else {
          this.bytes(data + bytes.length * i, bytes.length).set(bytes);
        }
        if (c.nullable) this.bytes(validity + (i >> 3), 1)[0] |= 1 << (i & 7);
      }
      if (kind === KINDS.string) this.u32(data + 4 * (i + 1), end);
    });
    const blob = this.area(end);
    let at = blob;
    for (const text of texts) {
      this.bytes(at, text.length).set(text);
      at += text.length;
    }
    [kind, c.nullable ? 1 : 0, validity, data, blob, end].forEach((v, i) => this.u32(d + 4 * i, v));
  }

  /** Lays out a row of accumulators. */
  accs(accs, width) {
    if (width > 0) {
      const off = this.area(width * accs.length);
      accs.forEach((a, i) => a && this.bytes(off + width * i, width).set(a));
      return off;
    }
    const table = this.area(4 * (accs.length + 1));
    let end = 0;
    accs.forEach((a, i) => this.u32(table + 4 * (i + 1), end += a.length));
    let at = this.area(end);
    for (const a of accs) {
      this.bytes(at, a.length).set(a);
      at += a.length;
    }
    return table;
  }

  /** Lays out output columns for all groups. */
  outputs(columns) {
    const n = this.get("groups");
    this.set("noutcols", columns.length);
    this.set("outcols", this.area(DESCRIPTOR * columns.length));
    columns.forEach((c, i) => {
      const validity = this.area(8 * Math.ceil(n / 64)), data = this.area(8 * n);
      [KINDS[c.type], 1, validity, data].forEach((v, k) => this.u32(this.get("outcols") + DESCRIPTOR * i + 4 * k, v));
    });
  }

  /** Gives the rest of the arena, or room bytes of it, to the answer and calls. */
  serve(name, room = this.instance.room - this.at) {
    this.set("out", this.at);
    this.set("out_cap", room);
    this.set("size", this.at + room);
    for (let i = 0; i < this.get("noutcols"); i++) {
      const d = this.get("outcols") + DESCRIPTOR * i;
      this.u32(d + 16, this.at);
      this.u32(d + 20, room);
    }
    const { instance } = this;
    const status = instance.guard(() => instance.exports[name](instance.arena), () => this.get("op"));
    if (instance.log) console.error(instance.log.trimEnd());
    if (status === OK || status === OUTPUT_FULL) return status;
    if (status === REFUSED) throw new Refusal(instance.text([instance.arena + this.at, this.get("out_used")]), this.get("op"));
    throw new Error(`BUG: ${name} answers status ${status} to the twin's frame`);
  }

  /** n accumulators of a fixed size. */
  fixed(n, width) {
    return Array.from({ length: n }, (_, i) => this.bytes(this.get("acc") + width * i, width).slice());
  }

  /** n accumulators of varying size out of the output area. */
  answered(n) {
    const accs = [], end = this.at + this.get("out_used");
    let at = this.at;
    for (let i = 0; i < n; i++) {
      const size = this.load(at);
      accs.push(this.bytes(at + 4, size).slice());
      at += 4 + Math.ceil(size / 4) * 4;
    }
    if (at !== end) throw new Error("BUG: bytes are left over behind the accumulators, or missing");
    return accs;
  }

  /** The first n result rows. */
  rows(columns, n) {
    return Array.from({ length: n }, (_, r) => {
      const row = {};
      columns.forEach((c, i) => {
        const d = this.get("outcols") + DESCRIPTOR * i, validity = this.load(d + 8), data = this.load(d + 12);
        if (this.bytes(validity + (r >> 3), 1)[0] >> (r & 7) & 1) row[c.name] = this.value(c.type, data, r);
      });
      return row;
    });
  }

  value(type, data, r) {
    const at = this.instance.arena + data, { memory } = this.instance;
    switch (type) {
      case "float64": return memory.getFloat64(at + 8 * r, true);
      case "bool": return memory.getUint8(at + r) !== 0;
      case "string": {
        const off = memory.getUint32(at + 8 * r, true), size = memory.getUint32(at + 8 * r + 4, true);
        if (off + size > this.get("out_used")) throw new Error("BUG: a text lies outside the output area");
        return this.instance.text([this.instance.arena + this.at + off, size]);
      }
      default: return memory.getBigInt64(at + 8 * r, true);
    }
  }
}

/** A value as a column of the type holds it; undefined: it is none. */
function encode(type, v) {
  switch (type) {
    case "bool": return typeof v === "boolean" ? Uint8Array.of(v ? 1 : 0) : undefined;
    case "string": return typeof v === "string" ? new TextEncoder().encode(v) : undefined;
    case "float64": return typeof v === "number" ? new Uint8Array(Float64Array.of(v).buffer) : undefined;
  }
  if (type === "timestamp" && v instanceof Date) v = v.getTime();
  if (typeof v === "number" && Number.isSafeInteger(v)) v = BigInt(v);
  return typeof v === "bigint" && BigInt.asIntN(64, v) === v ? new Uint8Array(BigInt64Array.of(v).buffer) : undefined;
}
