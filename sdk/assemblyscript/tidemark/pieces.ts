import { Frame, MAX_COUNT } from "./frame";

/**
 * A row of accumulators or states that vary in size, as the host gives it (abi/SPEC.md,
 * section 3): piece i is the bytes between offsets i and i+1.
 */
export class Pieces {
  private offsets: usize = 0;
  private data: usize = 0;

  /** Finds n pieces at an offset of a frame. */
  open(f: Frame, off: u32, n: u32): bool {
    if (n > MAX_COUNT) return false;
    const table = 4 * (n + 1);
    this.offsets = f.area(off, table);
    if (this.offsets == 0) return false;
    let last: u32 = 0; // offsets ascend, so the last one bounds all bytes
    for (let i: u32 = 0; i <= n; i++) {
      const next = load<u32>(this.offsets + 4 * i);
      if (next < last) return false;
      last = next;
    }
    this.data = f.area(off + ((table + 7) & ~7), last);
    return this.data != 0;
  }

  at(i: u32): usize { return this.data + load<u32>(this.offsets + 4 * i); }

  size(i: u32): i32 { return load<u32>(this.offsets + 4 * i, 4) - load<u32>(this.offsets + 4 * i); }
}
