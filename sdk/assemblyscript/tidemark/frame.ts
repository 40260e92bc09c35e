// One call's view of the arena: the layout of a frame (abi/SPEC.md, section 3) and what
// is checked of it.

/** What a call answers (abi/SPEC.md, section 5). */
export const enum Status { OK = 0, REFUSED = 1, OUTPUT_FULL = 2, BAD_FRAME = 3 }

/** The type of a column (section 3). */
export const enum Kind { INT64 = 1, FLOAT64 = 2, BOOL = 3, STRING = 4, TIMESTAMP = 5 }

/** One record of a call, or one row of its answer. It means nothing after the call. */
export type Row = i32;

/**
 * Whether a text that a plug-in answers refuses. Comparing it with null would call the
 * comparison of strings, for each record.
 */
export function refuses(why: string | null): bool {
  return changetype<usize>(why) != 0;
}

/** The longest text of a refusal, in bytes of UTF-8 (section 5). */
export const MESSAGE_BYTES: u32 = 4096;

/** The longest accumulator that varies in size (section 2). */
export const ACC_BYTES: u32 = 1 << 20;

/**
 * Holds the largest call that must work: a merge of two accumulators of 1 MiB into a
 * third, or one record of 1 MiB, with room to spare.
 */
export const ARENA_BYTES: u32 = 4 << 20;

/**
 * Bounds rows and groups before they are multiplied: no frame in this arena can hold
 * more, since each row and each group needs at least 4 bytes.
 */
export const MAX_COUNT: u32 = ARENA_BYTES / 4;

const HEADER_BYTES: u32 = 96;

/** The bit of Descriptor.flags that says that there is a validity bitmap. */
const HAS_VALIDITY: u32 = 1;

/** One column of a frame as it lies in memory. */
@unmanaged
export class Descriptor {
  kind: u32;
  flags: u32;
  validity: u32;
  data: u32;
  blob: u32;
  blobSize: u32;
  reserved: u64;

  /** Whether the column has a validity bitmap. */
  get hasValidity(): bool {
    return (this.flags & HAS_VALIDITY) != 0;
  }
}

/**
 * Whether the n groups at an address are all below groups, which is at most MAX_COUNT. It
 * is asked once a call, so that no record path asks: two at a time, without a branch. The
 * top bit of a number says that it is too large, or that it has become so below zero; a
 * borrow from the number beside it says the same of that one.
 */
function allBelow(at: usize, n: u32, groups: u32): bool {
  const one: u64 = 1 << 32 | 1, last = <u64>(groups - 1) * one;
  const end = at + 4 * n, pairs = at + (4 * n & ~31);
  let bad: u64 = 0;
  for (; at < pairs; at += 32) {
    const a = load<u64>(at), b = load<u64>(at, 8), c = load<u64>(at, 16), d = load<u64>(at, 24);
    bad |= a | (last - a) | b | (last - b) | c | (last - c) | d | (last - d);
  }
  for (; at < end; at += 4) {
    const g = <u64>load<u32>(at);
    bad |= g | (last - g);
  }
  return n == 0 || (groups > 0 && (bad & one << 31) == 0);
}

/** The head of a frame as it lies in memory; its address is the frame's. */
@unmanaged
export class Frame {
  size: u32;
  rows: u32;
  groups: u32;
  cols: u32;
  ncols: u32;
  group: u32;
  acc: u32;
  from: u32;
  outcols: u32;
  noutcols: u32;
  out: u32;
  outCap: u32;
  op: u32;
  done: u32;
  outUsed: u32;
  block: u32;

  /**
   * Checks what is cheap to check once a call: that the header and the output area lie
   * in the room bytes of the arena that are left.
   */
  opens(room: u32): bool {
    return room >= HEADER_BYTES && (changetype<usize>(this) & 7) == 0 &&
      this.size >= HEADER_BYTES && this.size <= room &&
      this.rows <= MAX_COUNT && this.groups <= MAX_COUNT &&
      this.holds(this.out, this.outCap);
  }

  /** Whether an area of size bytes lies aligned inside the frame. */
  holds(off: u32, size: u32): bool {
    return (off & 7) == 0 && off <= this.size && size <= this.size - off;
  }

  /** The address of an area that holds has approved. */
  at(off: u32): usize {
    return changetype<usize>(this) + off;
  }

  /** The address of an area of size bytes, or 0 where it is not in the frame. */
  area(off: u32, size: u32): usize {
    return this.holds(off, size) ? this.at(off) : 0;
  }

  /** The address of the group of each record, all of them below groups, or 0. */
  groupOf(): usize {
    const n = this.rows;
    const at = this.area(this.group, 4 * n);
    return at != 0 && allBelow(at, n, this.groups) ? at : 0;
  }

  /** Refuses the operation at op with a text for people. */
  refuse(why: string | null): Status {
    const text = String.UTF8.encode(why!, false, String.UTF8.ErrorMode.REPLACE);
    const from = changetype<usize>(text);
    let n = min(<u32>text.byteLength, min(MESSAGE_BYTES, this.outCap));
    if (n < <u32>text.byteLength) { // do not cut a character
      while (n > 0 && (load<u8>(from + n) & 0xC0) == 0x80) n--;
    }
    memory.copy(this.at(this.out), from, n);
    this.outUsed = n;
    return Status.REFUSED;
  }

  /** Says that operation done did not fit. */
  full(done: u32): Status {
    this.done = done;
    return Status.OUTPUT_FULL;
  }
}
