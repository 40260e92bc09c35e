import { Bytes } from "./bytes";
import { ACC_BYTES, Frame, MAX_COUNT, Status } from "./frame";

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

/** Appends piece i, an accumulator or an upgraded state, to the output area. */
export function answerPiece(f: Frame, piece: Bytes, i: u32): Status {
  const size = <u32>piece.length;
  if (size > ACC_BYTES) return f.refuse("accumulator is longer than 1 MiB");
  const need: u32 = 4 + ((size + 3) & ~3);
  if (need > f.outCap - f.outUsed) return f.full(i);
  const at = f.at(f.out + f.outUsed);
  store<u32>(at + need - 4, 0); // the padding; overwritten where there is none
  store<u32>(at, size);
  memory.copy(at + 4, piece.at, size);
  f.outUsed += need;
  return Status.OK;
}
