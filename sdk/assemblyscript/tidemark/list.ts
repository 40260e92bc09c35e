// Lists of records in the block of a frame, beside its items.
import { bindColumns, Input, TimeInput } from "./column";
import { Descriptor, Frame, MAX_COUNT, Row } from "./frame";
import { Firing } from "./process";

/** A list as the block names it. */
@unmanaged
export class ListBlock {
  rows: u32;
  cols: u32;
  ncols: u32;
}

/** The records of a firing, in order of arrival, with columns that are read at their rows. */
export class Records {
  private times: TimeInput = new TimeInput("");
  private rows: u32 = 0;
  /** Which list of the frame it is. */
  number: i32 = 0;

  /** columns may be empty, if only the number of records and their times matter. */
  constructor(readonly columns: Input[]) {}

  /** The number of records of a firing. */
  length(f: Firing): i32 { return <i32>(f.data.to(this.number) - f.data.from(this.number)); }

  /** Record i of a firing, counted from 0; the next one's row is one more. */
  at(f: Firing, i: i32): Row { return <i32>f.data.from(this.number) + i; }

  /** The event time of a record in ms since 1970; without one 0. */
  time(r: Row): i64 { return this.times.of(r); }

  /** Whether a record has an event time. */
  timed(r: Row): bool { return !this.times.isNull(r); }

  /** Whether there is a row of a number, which a host has given. Used by the SDK. */
  has(r: u32): bool { return r < this.rows; }

  /** Whether there are rows up to one of a number. Used by the SDK. */
  spans(from: u32, to: u32): bool { return from <= to && to <= this.rows; }

  /** Points the columns at list number of a frame. Called by the SDK. */
  open(f: Frame, b: ListBlock, number: i32): bool {
    this.number = number;
    const rows = this.rows = b.rows, at = f.area(b.cols, offsetof<Descriptor>());
    if (rows > MAX_COUNT || b.ncols != 1 + <u32>this.columns.length || at == 0) return false;
    return this.times.bind(f, changetype<Descriptor>(at), rows) &&
      bindColumns(f, b.cols + <u32>offsetof<Descriptor>(), rows, this.columns);
  }
}
