// Input columns: typed names that are bound to the frame at each call.
import { Descriptor, Frame, Kind, Row } from "./frame";

/** A column that a plug-in reads. */
export abstract class Input {
  /** Whether it was declared nullable. */
  takesNull: bool = false;
  /** The address of the validity bitmap of the current call; 0: no row is null. */
  protected valid: usize = 0;
  /** The address of the values of the current call. */
  protected data: usize = 0;

  constructor(readonly name: string, readonly kind: Kind) {}

  /**
   * Whether the column has no value in this record, which only happens when it was
   * declared nullable. of then gives 0, false or the empty text.
   */
  isNull(r: Row): bool {
    return this.valid != 0 && (load<u64>(this.valid + ((r >> 6) << 3)) >> (r & 63) & 1) == 0;
  }

  /** Points the column at a frame in which it has some rows. Called by the SDK. */
  bind(f: Frame, d: Descriptor, rows: u32): bool {
    if (d.kind != <u32>this.kind) return false;
    this.valid = 0;
    if (d.hasValidity) {
      this.valid = f.area(d.validity, (rows + 63) / 64 * 8);
      if (this.valid == 0) return false;
    }
    this.data = f.area(d.data, this.kind == Kind.BOOL ? rows : this.kind == Kind.STRING ? 4 * (rows + 1) : 8 * rows);
    return this.data != 0;
  }
}

/** Reads a column of whole numbers. */
export class Int64Input extends Input {
  constructor(name: string) { super(name, Kind.INT64); }

  /** Asks for records without a value too; without it the host leaves them out. */
  nullable(): Int64Input {
    this.takesNull = true;
    return this;
  }

  /** The record's value. Called per record. */
  of(r: Row): i64 { return load<i64>(this.data + (<usize>r << 3)); }
}

/** Reads a column of floating-point numbers, which may be NaN or infinite where the source can say so. */
export class Float64Input extends Input {
  constructor(name: string) { super(name, Kind.FLOAT64); }

  /** Asks for records without a value too; without it the host leaves them out. */
  nullable(): Float64Input {
    this.takesNull = true;
    return this;
  }

  /** The record's value. Called per record. */
  of(r: Row): f64 { return load<f64>(this.data + (<usize>r << 3)); }
}

/** Reads a column of truth values. */
export class BoolInput extends Input {
  constructor(name: string) { super(name, Kind.BOOL); }

  /** Asks for records without a value too; without it the host leaves them out. */
  nullable(): BoolInput {
    this.takesNull = true;
    return this;
  }

  /** The record's value. Called per record. */
  of(r: Row): bool { return load<u8>(this.data + <usize>r) != 0; }
}

/** Reads a column of event times: milliseconds since 1970-01-01 UTC. */
export class TimeInput extends Input {
  constructor(name: string) { super(name, Kind.TIMESTAMP); }

  /** Asks for records without a value too; without it the host leaves them out. */
  nullable(): TimeInput {
    this.takesNull = true;
    return this;
  }

  /** The record's value. Called per record. */
  of(r: Row): i64 { return load<i64>(this.data + (<usize>r << 3)); }
}

/** Reads a column of text, which is valid UTF-8. */
export class StringInput extends Input {
  private blob: usize = 0;

  constructor(name: string) { super(name, Kind.STRING); }

  /** Asks for records without a value too; without it the host leaves them out. */
  nullable(): StringInput {
    this.takesNull = true;
    return this;
  }

  /**
   * The address of the record's text, which has size(r) bytes of UTF-8. It lies in the
   * frame: it is overwritten once the call is over, and must not be changed. This is
   * the form for the record path, since it allocates nothing.
   */
  at(r: Row): usize { return this.blob + load<u32>(this.data + (<usize>r << 2)); }

  /** The bytes of the record's text. */
  size(r: Row): i32 { return load<u32>(this.data + (<usize>r << 2), 4) - load<u32>(this.data + (<usize>r << 2)); }

  /** A copy of the record's text, which may be kept. */
  of(r: Row): string { return String.UTF8.decodeUnsafe(this.at(r), this.size(r)); }

  bind(f: Frame, d: Descriptor, rows: u32): bool {
    if (!super.bind(f, d, rows)) return false;
    this.blob = f.area(d.blob, d.blobSize);
    return this.blob != 0;
  }
}

/** Points the columns of the frame's own rows at it. Called by the SDK. */
export function bindInputs(f: Frame, cols: Input[]): bool {
  return f.ncols == <u32>cols.length && bindColumns(f, f.cols, f.rows, cols);
}

/** Points columns at their descriptors, which lie at an offset. Called by the SDK. */
export function bindColumns(f: Frame, off: u32, rows: u32, cols: Input[]): bool {
  const at = f.area(off, cols.length * offsetof<Descriptor>());
  if (at == 0) return false;
  for (let i = 0; i < cols.length; i++) {
    if (!cols[i].bind(f, changetype<Descriptor>(at + i * offsetof<Descriptor>()), rows)) return false;
  }
  return true;
}
