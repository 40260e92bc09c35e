// What a frame of tm_aggregate_apply carries (abi/SPEC.md, section 3): operations on
// accumulators of a fixed size, in the order in which they happen.
import { bindColumns, Input } from "./column";
import { Descriptor, Frame, Kind, MAX_COUNT } from "./frame";
import { Block } from "./items";
import { bindOutputs, Output } from "./output";

/** What an operation does to its accumulator. */
export const enum Step { RECORD = 0, RESULT = 1, RESET = 2, MERGE = 3 }

/** An operation as it lies in memory. */
@unmanaged
export class Operation {
  what: u32;
  acc: u32;
  /** The row of the records or of the result columns, or the accumulator that is merged. */
  arg: u32;
  zero: u32;
}

/** The operations of a frame. */
export class Agenda {
  private ops: usize = 0;
  /** The bytes of text that a record has on average. */
  text: u32 = 0;

  /**
   * Points columns at a frame, and checks that each operation names what there is, before
   * the first one is carried out.
   */
  open(f: Frame, inputs: Input[], outputs: Output[]): bool {
    const at = f.area(f.block, offsetof<Block>());
    if (at == 0) return false;
    const b = changetype<Block>(at), records = b.rows0, results = b.results;
    this.ops = f.area(b.items, f.rows * offsetof<Operation>());
    if (this.ops == 0 || records > MAX_COUNT || results > MAX_COUNT || b.ncols0 != <u32>inputs.length) return false;
    if (!bindColumns(f, b.cols0, records, inputs) || !bindOutputs(f, outputs, results)) return false;
    this.text = 0;
    for (let i: u32 = 0, n = b.ncols0; i < n && records > 0; i++) {
      const d = changetype<Descriptor>(f.at(b.cols0) + i * offsetof<Descriptor>());
      if (d.kind == Kind.STRING) this.text += d.blobSize / records;
    }
    for (let i: u32 = 0, n = f.rows; i < n; i++) {
      const o = this.at(i);
      let limit: u32 = 0; // of the argument; there is no other operation
      switch (o.what) {
        case Step.RECORD: limit = records; break;
        case Step.RESULT: limit = results; break;
        case Step.RESET: limit = 1; break;
        case Step.MERGE: limit = f.groups; break;
      }
      if (o.acc >= f.groups || o.arg >= limit) return false;
    }
    return true;
  }

  at(i: u32): Operation { return changetype<Operation>(this.ops + i * offsetof<Operation>()); }
}
