// Output columns: typed names that write the row that is open.
import { answer } from "./answer";
import { Descriptor, Frame, Kind, Row } from "./frame";

/** A column that a plug-in answers. A row that it is not set in is null there. */
export abstract class Output {
  /** The address of the bits that say which rows have a value, and the number of that of row 0. */
  private valid: usize = 0;
  private bit: i32 = 0;
  /** The address of the value of row 0, which need not be one. */
  private data: usize = 0;

  constructor(readonly name: string, readonly kind: Kind) {}

  /**
   * Takes the place for a value of 1 << align bytes in a row, which then has one. To set
   * a column of a row that is complete would write over others.
   */
  protected place(w: Row, align: i32): usize {
    if (w != answer.row) closed();
    const bit = this.bit + w, word = this.valid + ((bit >> 6) << 3);
    store<u64>(word, load<u64>(word) | <u64>1 << (bit & 63));
    return this.data + (<usize>w << align);
  }

  /** Points the column at a frame in which it has some rows. Called by the SDK. */
  bind(f: Frame, d: Descriptor, rows: u32): bool {
    if (d.kind != <u32>this.kind) return false;
    const valid = f.area(d.validity, (rows + 63) / 64 * 8);
    const data = f.area(d.data, this.kind == Kind.BOOL ? rows : 8 * rows);
    this.point(0, valid, 0, data);
    return valid != 0 && data != 0;
  }

  /**
   * Points the column at a row whose value lies at data, and which has one if the bit of
   * that number is set in the words at valid. Called by the SDK.
   */
  point(w: Row, valid: usize, bit: i32, data: usize): void {
    this.valid = valid;
    this.bit = bit - w;
    this.data = data - (<usize>w << (this.kind == Kind.BOOL ? 0 : 3));
  }
}

function closed(): void {
  throw new Error("tidemark: the row is complete: its columns are set before the next row begins, and before the function returns");
}

/** Answers a column of whole numbers. */
export class Int64Output extends Output {
  constructor(name: string) { super(name, Kind.INT64); }

  /** Writes the column's value in the row. */
  set(w: Row, v: i64): void {
    store<i64>(this.place(w, 3), v);
  }
}

/** Answers a column of floating-point numbers. */
export class Float64Output extends Output {
  constructor(name: string) { super(name, Kind.FLOAT64); }

  /** Writes the column's value in the row. */
  set(w: Row, v: f64): void {
    store<f64>(this.place(w, 3), v);
  }
}

/** Answers a column of truth values. */
export class BoolOutput extends Output {
  constructor(name: string) { super(name, Kind.BOOL); }

  /** Writes the column's value in the row. */
  set(w: Row, v: bool): void {
    store<u8>(this.place(w, 0), u8(v));
  }
}

/** Answers a column of event times: milliseconds since 1970-01-01 UTC. */
export class TimeOutput extends Output {
  constructor(name: string) { super(name, Kind.TIMESTAMP); }

  /** Writes the column's value in the row. */
  set(w: Row, v: i64): void {
    store<i64>(this.place(w, 3), v);
  }
}

/** Answers a column of text. The texts of one row may take 1 MiB together. */
export class StringOutput extends Output {
  constructor(name: string) { super(name, Kind.STRING); }

  /** Writes the column's value in the row; half a surrogate pair becomes U+FFFD. */
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

  /** Takes n bytes of the output area for the row's text; 0: there is no room. */
  private room(w: Row, n: i32): usize {
    const place = this.place(w, 3), at = answer.text(n);
    if (at == 0) return 0;
    store<u32>(place, answer.offsetOf(at));
    store<u32>(place, n, 4);
    return at;
  }
}

/** Points all output columns at the frame, in which they have some rows. Called by the SDK. */
export function bindOutputs(f: Frame, cols: Output[], rows: u32): bool {
  const at = f.area(f.outcols, f.noutcols * offsetof<Descriptor>());
  if (f.noutcols != <u32>cols.length || at == 0) return false;
  for (let i = 0; i < cols.length; i++) {
    if (!cols[i].bind(f, changetype<Descriptor>(at + i * offsetof<Descriptor>()), rows)) return false;
  }
  return true;
}
