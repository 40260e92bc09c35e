// Accumulators of a fixed size, changed in place.
import { Aggregate } from "./aggregate";
import { answer } from "./answer";
import { Agenda, Step } from "./apply";
import { Frame, refuses, Status } from "./frame";
import { breathe } from "./garbage";
import { checkPlain, widthOf } from "./plain";
import { mistake, register } from "./plugin";
import { Spec } from "./spec";

/**
 * Registers an aggregate whose accumulator is a class with fields of plain numbers and
 * truth values, at most 4,096 bytes. It lies in the frame itself, where its methods
 * change it in place: nothing is copied, encoded or allocated. A fresh one has the
 * values that its class declares. Its memory layout is what the host keeps, so a
 * changed layout needs a new Spec.schema.
 *
 * A has the methods
 *
 *     add(r: Row): string | null     // folds a record in
 *     merge(o: A): string | null     // folds in the records behind o, which came later
 *     result(w: Row): string | null  // writes the row of output columns
 *
 * and a constructor without arguments, if it has one. It must neither be kept nor
 * extended: `this` and o lie in the host's bytes. A text in place of null refuses what
 * is being worked on. A module registers one aggregate.
 */
export function fixedAggregate<A>(spec: Spec): void {
  const problem = checkPlain<A>("accumulator", "use variableAggregate");
  if (problem !== null) mistake("aggregate", spec, problem);
  register(new Fixed<A>(spec, widthOf<A>()));
}

/** Exported for the tests of the SDK. */
export class Fixed<A> extends Aggregate {
  private accs: usize = 0; // of a call to result
  private fresh: A | null = null; // what arguments make of one; null: not yet known

  /** The address of the row of accumulators at an offset, or 0. */
  private row(f: Frame, off: u32): usize {
    const size = <u64>f.groups * widthOf<A>();
    return size <= f.size ? f.area(off, <u32>size) : 0;
  }

  protected create(f: Frame): Status {
    const at = this.row(f, f.acc);
    if (at == 0) return Status.BAD_FRAME;
    for (let i: u32 = 0; i < f.groups; i++) {
      f.op = i;
      this.renew(at + i * widthOf<A>());
    }
    return Status.OK;
  }

  /** Makes the accumulator at an address a fresh one. */
  private renew(at: usize): void {
    if (this.fresh === null) this.fresh = instantiate<A>();
    memory.fill(at, 0, widthOf<A>()); // the padding too, so that equal accumulators are equal bytes
    memory.copy(at, changetype<usize>(this.fresh), offsetof<A>());
  }

  protected add(f: Frame): Status {
    const at = this.row(f, f.acc), group = f.groupOf();
    if (at == 0 || group == 0) return Status.BAD_FRAME;
    for (let r: u32 = 0, n = f.rows; r < n; r++) { // the record path
      f.op = r;
      const why = changetype<A>(at + load<u32>(group + (r << 2)) * widthOf<A>()).add(r);
      if (refuses(why)) return f.refuse(why);
    }
    return Status.OK;
  }

  protected merge(f: Frame): Status {
    const at = this.row(f, f.acc), from = this.row(f, f.from);
    if (at == 0 || from == 0) return Status.BAD_FRAME;
    for (let i: u32 = 0, n = f.groups; i < n; i++) {
      f.op = i;
      const why = changetype<A>(at + i * widthOf<A>()).merge(changetype<A>(from + i * widthOf<A>()));
      if (refuses(why)) return f.refuse(why);
    }
    return Status.OK;
  }

  protected apply(f: Frame, agenda: Agenda): Status {
    const at = this.row(f, f.acc);
    if (at == 0) return Status.BAD_FRAME;
    answer.open(f);
    for (let i: u32 = 0, n = f.rows; i < n; i++) {
      const o = agenda.at(i), to = at + o.acc * widthOf<A>();
      f.op = i;
      let why: string | null = null;
      switch (o.what) {
        case Step.RECORD: // the record path
          why = changetype<A>(to).add(o.arg);
          break;
        case Step.RESULT: {
          answer.begin(i);
          answer.result(o.arg);
          const status = answer.end(changetype<A>(to).result(o.arg));
          if (status != Status.OK) return status;
          break;
        }
        case Step.RESET:
          this.renew(to);
          break;
        case Step.MERGE:
          why = changetype<A>(to).merge(changetype<A>(at + o.arg * widthOf<A>()));
          break;
      }
      if (refuses(why)) return f.refuse(why);
      breathe(agenda.text); // a record is in the frame once, however many accumulators it goes into
    }
    return Status.OK;
  }

  protected openAccs(f: Frame): bool {
    this.accs = this.row(f, f.acc);
    return this.accs != 0;
  }

  protected write(i: u32): string | null {
    return changetype<A>(this.accs + i * widthOf<A>()).result(i);
  }
}
