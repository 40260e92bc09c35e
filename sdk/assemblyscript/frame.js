// One frame of abi/SPEC.md, section 3, as a host writes and reads it.
import { Refusal } from "./instance.js";

const HEADER = 96, DESCRIPTOR = 32, NONE = 0xFFFFFFFF, NAMES = ["size", "rows", "groups", "cols", "ncols", "group", "acc", "from",
  "outcols", "noutcols", "out", "out_cap", "op", "done", "out_used", "block"];
const KINDS = { int64: 1, float64: 2, bool: 3, string: 4, timestamp: 5 };
const OK = 0, REFUSED = 1;
export const OUTPUT_FULL = 2;
const ENTRY = 16;

/** The column in front of a list. */
const TIME = { name: " time", type: "timestamp", nullable: true };

/** One frame at the start of an instance's arena. */
export class Frame {
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

  i64(off, value) {
    this.instance.memory.setBigInt64(this.instance.arena + off, BigInt(value), true);
  }

  /** Lays out the frame's own columns. */
  columns(columns, rows, what) {
    this.set("rows", rows.length);
    this.set("ncols", columns.length);
    this.set("cols", this.described(columns, rows, what));
  }

  /** Lays out columns and gives the offset of their descriptors. */
  described(columns, rows, what) {
    rows.forEach((row, i) => {
      for (const name of Object.keys(row)) {
        if (!columns.some((c) => c.name === name)) throw new Error(`${what} ${i}: ${name} is not declared`);
      }
    });
    const cols = this.area(DESCRIPTOR * columns.length);
    columns.forEach((c, i) => this.column(cols + DESCRIPTOR * i, c, rows, what));
    return cols;
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

  /** Lays out a list of records { time, values }, their times in front, and gives the offset of its descriptors. */
  list(columns, records, what) {
    return this.described([TIME, ...columns], records.map(({ time, values }) => ({ ...values, [TIME.name]: time })), what);
  }

  /** Lays out output columns of n rows, by default one for each group. */
  outputs(columns, n = this.get("groups")) {
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

  /** The entries of an answer for n items: { item, what, body }. */
  entries(n) {
    const entries = [], end = this.at + this.get("out_used");
    for (let at = this.at, last = 0; at < end;) {
      const [item, what, size, zero] = [0, 4, 8, 12].map((k) => this.load(at + k)), next = at + ENTRY + Math.ceil(size / 8) * 8;
      if (item < last || item >= n || zero !== 0 || next > end) throw new Error(`BUG: entry ${entries.length} is none: item ${item} behind ${last} of ${n}, ${size} bytes`);
      const body = this.bytes(at + ENTRY, size).slice();
      if (this.bytes(at + ENTRY + size, next - at - ENTRY - size).some((b) => b !== 0)) throw new Error(`BUG: entry ${entries.length} is not padded with zeros`);
      entries.push({ item, what, body });
      [at, last] = [next, item];
    }
    return entries;
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

/** The row that the body of an entry is. */
export function rowOf(columns, body) {
  const view = new DataView(body.buffer, body.byteOffset, body.length), bits = view.getBigUint64(0, true), row = {};
  if (bits >> BigInt(columns.length) !== 0n) throw new Error("BUG: a row has values of more columns than there are");
  columns.forEach((c, i) => {
    if ((bits >> BigInt(i) & 1n) === 0n) return;
    const cell = 8 + 8 * i;
    switch (c.type) {
      case "float64": row[c.name] = view.getFloat64(cell, true); break;
      case "bool": row[c.name] = view.getBigUint64(cell, true) !== 0n; break;
      case "string": {
        const off = view.getUint32(cell, true), size = view.getUint32(cell + 4, true);
        if (off < 8 + 8 * columns.length || off + size > body.length) throw new Error("BUG: a text lies outside its row");
        row[c.name] = new TextDecoder("utf-8", { fatal: true }).decode(body.subarray(off, off + size));
        break;
      }
      default: row[c.name] = view.getBigInt64(cell, true);
    }
  });
  return row;
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
