// Pair functions: what a join makes of two records.
import { answer, What } from "./answer";
import { Input } from "./column";
import { Frame, Row } from "./frame";
import { Block, Items } from "./items";
import { Records } from "./list";
import { checkInputs, checkOutputs, Json } from "./manifest";
import { Output } from "./output";
import { Op, register } from "./plugin";
import { ModuleSpec } from "./spec";

/** Describes a pair function. */
export class PairSpec extends ModuleSpec {
  /** Columns of either record: read them at Pair.left and Pair.right. */
  left: Input[] = [];
  right: Input[] = [];
  outputs: Output[] = [];
}

/**
 * Registers a function that is shown pairs of records, which a join has brought together,
 * and gives any number of rows for each. It keeps nothing: what it does for a pair
 * follows from that pair alone. A text in place of null refuses the pair. A module
 * registers one plug-in.
 */
export function pairFunction(spec: PairSpec, fn: (p: Pair) => string | null): void {
  register(new PairFunction(spec, fn));
}

/** A pair as it lies in memory. */
@unmanaged
class PairData {
  left: u32;
  right: u32;
  time: i64;
}

/** What a pair function is shown: a record of either side. It means nothing after the function returns. */
export class Pair {
  data: PairData = changetype<PairData>(0);

  constructor(private lefts: Records, private rights: Records, private outputs: Output[]) {}

  /** Names the values of the left record, for columns of PairSpec.left. */
  get left(): Row { return this.data.left; }

  /** Names the values of the right record, for columns of PairSpec.right. */
  get right(): Row { return this.data.right; }

  /** The event time of the left record in ms since 1970; without one 0. */
  get leftTime(): i64 { return this.lefts.time(this.left); }

  /** The event time of the right record in ms since 1970; without one 0. */
  get rightTime(): i64 { return this.rights.time(this.right); }

  /** Whether the left record has an event time. */
  get leftTimed(): bool { return this.lefts.timed(this.left); }

  /** Whether the right record has an event time. */
  get rightTimed(): bool { return this.rights.timed(this.right); }

  /**
   * The time of the rows: the later one of the two in an interval join, the last
   * millisecond of the window in a window join.
   */
  get time(): i64 { return this.data.time; }

  /** Begins a row. The one that was begun before is complete: to set a column of it ends the call. */
  emit(): Row { return answer.emit(What.ROW, this.outputs); }
}

/** Exported for the tests of the SDK. */
export class PairFunction extends Items {
  private shown: Pair;
  private pairs: usize = 0;

  constructor(
    private own: PairSpec, private fn: (p: Pair) => string | null,
    private left: Records = new Records(own.left), private right: Records = new Records(own.right),
  ) {
    super(own, "pair function", "pair", Op.PAIR, [left, right]);
    this.shown = new Pair(left, right, own.outputs);
  }

  check(): string | null {
    const s = this.own;
    let problem = checkInputs("left column", s.left);
    if (problem === null) problem = checkInputs("right column", s.right);
    if (problem === null) problem = checkOutputs(s.outputs);
    if (problem !== null) return problem;
    for (let i = 0; i < s.left.length; i++) {
      if (s.right.includes(s.left[i])) return 'column "' + s.left[i].name + '" stands on both sides: declare one for each';
    }
    return null;
  }

  protected describe(to: Json): void {
    to.inputs("left", this.own.left);
    to.inputs("right", this.own.right);
    to.outputs(this.own.outputs);
    to.params(this.own.params);
  }

  private pair(i: u32): PairData { return changetype<PairData>(this.pairs + i * offsetof<PairData>()); }

  protected open(f: Frame, b: Block): bool {
    this.pairs = f.area(b.items, f.rows * offsetof<PairData>());
    if (this.pairs == 0) return false;
    for (let i: u32 = 0, n = f.rows; i < n; i++) {
      const p = this.pair(i);
      if (!this.left.has(p.left) || !this.right.has(p.right)) return false;
    }
    return true;
  }

  protected show(i: u32): string | null {
    this.shown.data = this.pair(i);
    return this.fn(this.shown);
  }
}
