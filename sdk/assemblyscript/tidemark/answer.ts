// What a call answers for what it is working on: the row that is open, and the entries
// in the output area that functions of all kinds give (abi/SPEC.md, section 3).
import { Frame, refuses, Row, Status } from "./frame";
import { Output } from "./output";

/** Bounds the texts of one row, as every result is bounded. */
const TEXT_BYTES: u32 = 1 << 20;

/** The head of an entry as it lies in memory. */
@unmanaged
class Head {
  item: u32;
  what: u32;
  size: u32;
  zero: u32;
}

/** What an entry is. */
export namespace What {
  /** A row of the results, or a window of an assigner; side outputs count from 1. */
  export const ROW: u32 = 0;
  /** Of triggers; of timers + the domain. */
  export const VERDICT: u32 = 0;
  export const SET_TIMER: u32 = 1;
  export const DELETE_TIMER: u32 = 3;
  export const STATE: u32 = 0x80000000;
  export const WINDOW_STATE: u32 = 0x80000001;
}

/** No row is open. */
const NONE: Row = -1;

/** Where columns of a row that does not fit are written: a word of bits and a value, which nobody reads. */
const scrap = memory.data(16, 8);

class Answer {
  private f: Frame = changetype<Frame>(0);
  private item: u32 = 0;
  private origin: u32 = 0; // of what the item has taken of the output area
  private full: bool = false; // something did not fit: the item is shown again, with more room
  private long: bool = false; // a row's texts are longer than any call can carry

  /** The row that is open. */
  row: Row = NONE;
  private rows: i32 = 0; // begun in this call
  private texts: u32 = 0; // where those of the open row begin in the output area
  private base: u32 = 0; // what their offsets count from, there; 0: the row is no entry

  /** Begins to answer a call. */
  open(f: Frame): void {
    this.f = f;
    this.rows = 0;
  }

  /** Begins the answer for an item: a record, firing, pair, operation or accumulator. */
  begin(item: u32): void {
    this.f.op = item;
    this.item = item;
    this.origin = this.f.outUsed;
    this.full = this.long = false;
  }

  /** Opens a result row, whose place the host has laid out. */
  result(row: Row): void {
    this.row = row;
    this.texts = this.f.outUsed;
    this.base = 0;
  }

  /** Opens an entry for a row of an output, and points its columns at it. */
  emit(output: u32, cols: Output[]): Row {
    this.close();
    const row = this.rows++, n = cols.length, size = 8 + 8 * n;
    const body = this.entry(output, size);
    this.row = row;
    this.texts = this.f.outUsed;
    if (body == 0) {
      this.base = 0;
      for (let i = 0; i < n; i++) cols[i].point(row, scrap, 0, scrap + 8);
      return row;
    }
    this.base = this.offset(body);
    memory.fill(body, 0, size);
    for (let i = 0; i < n; i++) cols[i].point(row, body, i, body + 8 + 8 * i);
    return row;
  }

  /** Closes the row that is open, whose texts have made it longer. */
  close(): void {
    if (this.row == NONE) return;
    this.row = NONE;
    if (this.base == 0) return;
    const f = this.f;
    changetype<Head>(f.at(f.out + this.base) - offsetof<Head>()).size = f.outUsed - this.base;
    this.pad();
  }

  /** Takes n bytes for a text of the open row and gives their address; 0: there is no room. */
  text(n: u32): usize {
    const f = this.f, used = f.outUsed;
    if (n > TEXT_BYTES - min(TEXT_BYTES, used - this.texts)) {
      this.long = true;
      return 0;
    }
    if (n > f.outCap - used) {
      this.full = true;
      return 0;
    }
    f.outUsed = used + n;
    return f.at(f.out + used);
  }

  /** The offset that the row gives of a text at an address. */
  offsetOf(text: usize): u32 { return this.offset(text) - this.base; }

  /** Answers an entry with a word for a body. */
  word(what: u32, v: u64): void {
    this.close();
    const body = this.entry(what, 8);
    if (body != 0) store<u64>(body, v);
  }

  /** Answers an entry with a copy of n bytes for a body, and gives the copy's address; 0: there is no room. */
  bytes(what: u32, from: usize, n: u32): usize {
    this.close();
    const body = this.entry(what, n);
    if (body == 0) return 0;
    memory.copy(body, from, n);
    this.pad();
    return body;
  }

  /** Opens an entry with a body of size bytes, and gives its address; 0: there is no room. */
  private entry(what: u32, size: u32): usize {
    const f = this.f, used = f.outUsed;
    if (this.full || <u32>offsetof<Head>() + ((size + 7) & ~7) > f.outCap - used) {
      this.full = true;
      return 0;
    }
    const head = changetype<Head>(f.at(f.out + used));
    head.item = this.item;
    head.what = what;
    head.size = size;
    head.zero = 0;
    f.outUsed = used + <u32>offsetof<Head>() + size;
    return changetype<usize>(head) + offsetof<Head>();
  }

  /** Ends an entry at a multiple of 8. */
  private pad(): void {
    const f = this.f, used = f.outUsed, to = (used + 7) & ~7;
    if (to > f.outCap) {
      this.full = true;
      return;
    }
    memory.fill(f.at(f.out + used), 0, to - used);
    f.outUsed = to;
  }

  private offset(at: usize): u32 { return <u32>(at - this.f.at(this.f.out)); }

  /**
   * Ends the answer for the item, which refused with why unless that is null, and says
   * how the call goes on: with the next item if the status is OK.
   */
  end(why: string | null): Status {
    this.close();
    const f = this.f;
    if (refuses(why)) return f.refuse(why);
    if (this.long) return f.refuse("the texts of a result row are longer than 1 MiB");
    if (this.full) {
      f.outUsed = this.origin;
      return f.full(this.item);
    }
    return Status.OK;
  }
}

/** There is one answer at a time, since there is one call at a time. */
export const answer = new Answer();
