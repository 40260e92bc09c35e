// Accumulators that vary in size: decoded, changed, encoded.
import { Aggregate } from "./aggregate";
import { Bytes, Reader } from "./bytes";
import { Frame, refuses, Status } from "./frame";
import { answerPiece, Pieces } from "./pieces";
import { register } from "./plugin";
import { Spec } from "./spec";

/** Bounds the accumulators that stay for the next call: one call has at most about as many groups as a batch has records. */
const KEPT_ACCS = 1024;

/**
 * Registers an aggregate whose accumulator varies in size: sets, sketches, lists. A has
 * the methods of fixedAggregate and
 *
 *     encode(to: Bytes): string | null     // appends at most 1 MiB
 *     decode(from: Reader): string | null  // on a fresh accumulator; the bytes are borrowed
 *
 * and, where its memory is worth using again, reset(): void, which makes it fresh,
 * whatever it held. What the host keeps is what encode wrote; decode is not asked where
 * that was nothing. merge may use up o. A module registers one aggregate.
 */
export function variableAggregate<A>(spec: Spec): void {
  register(new Variable<A>(spec, 0));
}

class Variable<A> extends Aggregate {
  private accs: A[] = []; // for their memory; what they hold never outlives a call
  private reader: Reader = new Reader(0, 0);
  private answer: Bytes = new Bytes();
  /** Two rows of accumulators: accumulator i is piece i. */
  private into: Pieces = new Pieces();
  private from: Pieces = new Pieces();

  rest(): void {
    this.accs = [];
    this.answer = new Bytes();
  }

  /** Accumulator i, fresh. */
  private fresh(i: i32): A {
    while (this.accs.length <= i) this.accs.push(instantiate<A>());
    const a = this.accs[i];
    if (isDefined(a.reset)) {
      a.reset();
      return a;
    }
    return this.accs[i] = instantiate<A>();
  }

  /** Makes accumulator slot what the bytes of accumulator i of a row say; a text is a refusal. */
  private decode(slot: i32, row: Pieces, i: u32): string | null {
    const a = this.fresh(slot), size = row.size(i);
    if (size == 0) return null;
    this.reader.reset(row.at(i), size);
    const why = a.decode(this.reader);
    if (why === null && this.reader.damaged) return "accumulator is damaged: its bytes end early";
    return why;
  }

  /** Answers accumulator slot as that of group i. */
  private encode(f: Frame, slot: i32, i: u32): Status {
    const to = this.answer;
    to.clear();
    const why = this.accs[slot].encode(to);
    return refuses(why) ? f.refuse(why) : answerPiece(f, to, i);
  }

  protected create(f: Frame): Status {
    for (let i: u32 = 0; i < f.groups; i++) {
      f.op = i;
      this.fresh(0);
      const status = this.encode(f, 0, i);
      if (status != Status.OK) return status;
    }
    return Status.OK;
  }

  protected add(f: Frame): Status {
    const group = f.groupOf();
    if (group == 0) return Status.BAD_FRAME;
    const n = f.groups;
    for (let g: u32 = 0; g < n; g++) this.fresh(g);
    for (let r: u32 = 0, rows = f.rows; r < rows; r++) { // the record path
      f.op = r;
      const why = unchecked(this.accs[load<u32>(group + (r << 2))]).add(r);
      if (refuses(why)) return f.refuse(why);
    }
    f.op = f.rows; // section 3: no record, the accumulators are being answered
    for (let g: u32 = 0; g < n; g++) {
      const status = this.encode(f, g, g);
      if (status != Status.OK) return status;
    }
    if (this.accs.length > KEPT_ACCS) this.accs.length = KEPT_ACCS;
    return Status.OK;
  }

  protected merge(f: Frame): Status {
    if (!this.into.open(f, f.acc, f.groups) || !this.from.open(f, f.from, f.groups)) return Status.BAD_FRAME;
    for (let i: u32 = 0; i < f.groups; i++) {
      f.op = i;
      let why = this.decode(0, this.into, i);
      if (why === null) why = this.decode(1, this.from, i);
      if (why === null) why = this.accs[0].merge(this.accs[1]);
      if (refuses(why)) return f.refuse(why);
      const status = this.encode(f, 0, i);
      if (status != Status.OK) return status;
    }
    return Status.OK;
  }

  protected openAccs(f: Frame): bool {
    return this.into.open(f, f.acc, f.groups);
  }

  protected write(i: u32): string | null {
    const why = this.decode(0, this.into, i);
    return why !== null ? why : this.accs[0].result(i);
  }
}
