// What both sorts of aggregates share: registration and the dispatch of a call.
import { bindInputs, Input } from "./column";
import { Frame, refuses, Status } from "./frame";
import { jsonString } from "./json";
import { check } from "./manifest";
import { bindOutputs, row } from "./output";
import { Spec } from "./spec";

/** The calls that carry a frame (abi/SPEC.md, section 4). */
export const enum Op { CONFIGURE, CREATE, ADD, MERGE, RESULT }

/** A registered aggregate. */
export abstract class Aggregate {
  private ready: bool = false; // configured

  /** width is the bytes of an accumulator; 0: it varies. */
  constructor(readonly spec: Spec, readonly width: u32) {}

  /** The calls of section 4. The columns are bound already. */
  protected abstract create(f: Frame): Status;
  protected abstract add(f: Frame): Status;
  protected abstract merge(f: Frame): Status;
  /** Writes the result row of accumulator i; a text refuses it. */
  protected abstract write(i: u32): string | null;
  /** Finds the accumulators of a call to result. */
  protected abstract openAccs(f: Frame): bool;

  /** Lets go of memory that was kept for the next call. */
  rest(): void {}

  /** Serves one call on a frame that lies in the room bytes of the arena that are left. */
  call(o: Op, f: Frame, room: u32): Status {
    if (!f.opens(room) || (o != Op.CONFIGURE && !this.ready)) return Status.BAD_FRAME;
    switch (o) {
      case Op.CONFIGURE: return this.configure(f);
      case Op.CREATE: return this.create(f);
      case Op.ADD: return bindInputs(f, this.spec.inputs) ? this.add(f) : Status.BAD_FRAME;
      case Op.MERGE: return this.merge(f);
      default: return bindOutputs(f, this.spec.outputs) && this.openAccs(f) ? this.result(f) : Status.BAD_FRAME;
    }
  }

  private configure(f: Frame): Status {
    const params = this.spec.params;
    const columns: Input[] = [];
    for (let i = 0; i < params.length; i++) columns.push(params[i].column);
    if (f.rows != 1 || !bindInputs(f, columns)) return Status.BAD_FRAME;
    for (let i = 0; i < params.length; i++) params[i].take();
    const configure = this.spec.configure;
    if (configure !== null) {
      const why = configure();
      if (refuses(why)) return f.refuse(why);
    }
    this.ready = true;
    return Status.OK;
  }

  private result(f: Frame): Status {
    for (let i: u32 = 0, n = f.groups; i < n; i++) {
      row.begin(f, i);
      const status = row.end(i, this.write(i));
      if (status != Status.OK) return status;
    }
    return Status.OK;
  }
}

/** The module's aggregate; null: none yet. */
export let registered: Aggregate | null = null;

/**
 * Checks the declaration and registers it. A mistake is the author's and shows when
 * the module starts for the first time, in `tidemark plugin build`.
 */
export function register(a: Aggregate): void {
  const problem = check(a.spec);
  if (problem !== null) throw new Error("tidemark: aggregate " + jsonString(a.spec.name) + ": " + problem);
  const other = registered;
  if (other !== null) {
    throw new Error("tidemark: a module registers one aggregate, this one has " +
      jsonString(other.spec.name) + " and " + jsonString(a.spec.name));
  }
  registered = a;
}
