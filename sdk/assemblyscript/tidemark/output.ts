// Output columns: typed names that write the result row.
import { Descriptor, Frame, Kind, refuses, Row, Status } from "./frame";

/** Bounds the texts of one result row, as every result is bounded. */
const TEXT_BYTES: u32 = 1 << 20;

/** A column that an aggregate answers. A row that it is not set in is null there. */
export abstract class Output {
  private valid: usize = 0;
  protected data: usize = 0;

  constructor(readonly name: string, readonly kind: Kind) {}

  /** Says that the row has a value. */
  protected has(w: Row): void {
    const word = this.valid + ((w >> 6) << 3);
    store<u64>(word, load<u64>(word) | <u64>1 << (w & 63));
  }

  /** Points the column at the frame. Called by the SDK. */
  bind(f: Frame, d: Descriptor): bool {
    if (d.kind != <u32>this.kind) return false;
    this.valid = f.area(d.validity, (f.groups + 63) / 64 * 8);
    this.data = f.area(d.data, this.kind == Kind.BOOL ? f.groups : 8 * f.groups);
    return this.valid != 0 && this.data != 0;
  }
}

/** Answers a column of whole numbers. */
export class Int64Output extends Output {
  constructor(name: string) { super(name, Kind.INT64); }

  /** Writes the column's value in the result row. */
  set(w: Row, v: i64): void {
    store<i64>(this.data + (<usize>w << 3), v);
    this.has(w);
  }
}

/** Answers a column of floating-point numbers. */
export class Float64Output extends Output {
  constructor(name: string) { super(name, Kind.FLOAT64); }

  /** Writes the column's value in the result row. */
  set(w: Row, v: f64): void {
    store<f64>(this.data + (<usize>w << 3), v);
    this.has(w);
  }
}

/** Answers a column of truth values. */
export class BoolOutput extends Output {
  constructor(name: string) { super(name, Kind.BOOL); }

  /** Writes the column's value in the result row. */
  set(w: Row, v: bool): void {
    store<u8>(this.data + <usize>w, u8(v));
    this.has(w);
  }
}

/** Answers a column of event times: milliseconds since 1970-01-01 UTC. */
export class TimeOutput extends Output {
  constructor(name: string) { super(name, Kind.TIMESTAMP); }

  /** Writes the column's value in the result row. */
  set(w: Row, v: i64): void {
    store<i64>(this.data + (<usize>w << 3), v);
    this.has(w);
  }
}

/** Answers a column of text. The texts of one row may take 1 MiB together. */
export class StringOutput extends Output {
  constructor(name: string) { super(name, Kind.STRING); }

  /** Writes the column's value in the result row; half a surrogate pair becomes U+FFFD. */
  set(w: Row, v: string): void {
    const n = String.UTF8.byteLength(v);
    const at = this.room(w, n);
    if (at != 0) String.UTF8.encodeUnsafe(changetype<usize>(v), v.length, at, false, String.UTF8.ErrorMode.REPLACE);
  }

  /** Is set for n bytes that are UTF-8 already; they are copied. */
  setBytes(w: Row, from: usize, n: i32): void {
    const at = this.room(w, n);
    if (at != 0) memory.copy(at, from, n);
  }

  /** Takes n bytes of the output area for the row's text, or says what is in the way. */
  private room(w: Row, n: i32): usize {
    const f = row.f, used = f.outUsed;
    if (<u32>n > TEXT_BYTES - min(TEXT_BYTES, used - row.start)) {
      row.long = true;
      return 0;
    }
    if (<u32>n > f.outCap - used) {
      row.full = true; // the row is answered again, in a call with more room
      return 0;
    }
    const place = this.data + (<usize>w << 3);
    store<u32>(place, used);
    store<u32>(place, n, 4);
    f.outUsed = used + n;
    this.has(w);
    return f.at(f.out + used);
  }
}

/** The result row that is being written. */
class ResultRow {
  f: Frame = changetype<Frame>(0);
  start: u32 = 0; // of this row's texts in the output area
  full: bool = false; // a text did not fit into the output area
  long: bool = false; // the row's texts are longer than any call can carry

  /** Begins row i. */
  begin(f: Frame, i: u32): void {
    f.op = i;
    this.f = f;
    this.start = f.outUsed;
    this.full = this.long = false;
  }

  /** What became of row i, which refused with why unless that is null. */
  end(i: u32, why: string | null): Status {
    const f = this.f;
    if (refuses(why)) return f.refuse(why);
    if (this.long) return f.refuse("the texts of a result row are longer than 1 MiB");
    if (this.full) {
      f.outUsed = this.start;
      return f.full(i);
    }
    return Status.OK;
  }
}

/** There is one row at a time, since there is one call at a time. Used by the SDK. */
export const row = new ResultRow();

/** Points all output columns at the frame. Called by the SDK. */
export function bindOutputs(f: Frame, cols: Output[]): bool {
  const at = f.area(f.outcols, f.noutcols * offsetof<Descriptor>());
  if (f.noutcols != <u32>cols.length || at == 0) return false;
  for (let i = 0; i < cols.length; i++) {
    if (!cols[i].bind(f, changetype<Descriptor>(at + i * offsetof<Descriptor>()))) return false;
  }
  return true;
}
