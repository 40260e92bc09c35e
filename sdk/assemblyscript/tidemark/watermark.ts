// Watermark generators: how far event time is in a source.
import { answer, What } from "./answer";
import { Input } from "./column";
import { Frame, Row, Status } from "./frame";
import { Block, checkState, checkStateUpgrades, describeState, Items } from "./items";
import { Records } from "./list";
import { checkInputs, Json } from "./manifest";
import { Output, TimeOutput } from "./output";
import { Op, register } from "./plugin";
import { ModuleSpec } from "./spec";
import { State, Stateful } from "./state";
import { Upgrade } from "./upgrade";

/** Describes a watermark generator. */
export class WatermarkSpec extends ModuleSpec {
  /** Columns of the source's records, beside their times. */
  inputs: Input[] = [];
  /** What the generator keeps of a split; null: nothing. */
  state: State | null = null;
  /** The version of the state's layout, to be raised when it changes. */
  schema: i32 = 1;
  /** The older layouts that it converts from. */
  upgrades: Upgrade[] = [];
  /**
   * Is called by the clock, whose time is Timed.time, also when no record comes; null: the
   * clock says nothing. What a tick says depends on when it comes, so there are none where
   * rows must follow from the records alone, in the replay of bounded input.
   */
  tick: ((t: Timed) => string | null) | null = null;
}

/**
 * Registers a function that is shown every record of a split, in order, and says how far
 * event time is behind it: that no record with that time or a lower one is to come. A
 * watermark below an earlier one says nothing, and none goes beyond the highest time of
 * the split. It keeps nothing but its state. A text in place of null ends the job, since
 * there is no time without it. A module registers one plug-in.
 */
export function watermarkGenerator(spec: WatermarkSpec, fn: (t: Timed) => string | null): void {
  register(new Generator(spec, fn));
}

/** What a generator is shown: a record with its time, or the clock. It means nothing after the function returns. */
export class Timed extends Stateful {
  /** Names the values of the generator's inputs; a tick has none. */
  row: Row = 0;
  private said: TimeOutput = new TimeOutput("watermark");
  private columns: Output[] = [this.said];

  constructor(public list: Records) { super(); }

  slot(_what: u32): u32 { return 0; }

  /** The record's event time, or the clock's, in ms since 1970. */
  get time(): i64 { return this.list.time(this.row); }

  /** Says how far event time is. The last one of a record counts. */
  watermark(time: i64): void {
    this.said.set(answer.emit(What.ROW, this.columns), time);
  }
}

/** Exported for the tests of the SDK. */
export class Generator extends Items {
  private shown: Timed;
  private clock: Records = new Records([]);
  private ticking: bool = false;

  constructor(private own: WatermarkSpec, private fn: (t: Timed) => string | null, private records: Records = new Records(own.inputs)) {
    super(own, "watermark generator", "watermark", Op.WATERMARK, [records]);
    this.shown = new Timed(records);
    this.upgrades = own.upgrades;
    this.keep(own.state, What.STATE);
  }

  check(): string | null {
    const s = this.own;
    let problem = checkState(s.state, s.schema);
    if (problem === null) problem = checkStateUpgrades(this.states.length, s.schema, s.upgrades);
    return problem !== null ? problem : checkInputs("input", this.own.inputs);
  }

  protected describe(to: Json): void {
    to.inputs("inputs", this.own.inputs);
    to.params(this.own.params);
    describeState(to, this.own.state, this.own.schema, this.own.upgrades);
  }

  protected serve(o: Op, f: Frame): Status {
    this.ticking = o == Op.TICK;
    this.shown.list = this.ticking ? this.clock : this.records;
    if (!this.ticking) return super.serve(o, f);
    return this.own.tick === null ? Status.OK : this.loop(f, [this.clock]);
  }

  protected open(f: Frame, b: Block): bool {
    const state = this.own.state;
    return b.rows0 == f.rows && (state === null || b.nkeys == 1 && state.open(f, b.keys, 1));
  }

  protected show(i: u32): string | null {
    const t = this.shown, tick = this.own.tick;
    t.row = i;
    return this.ticking ? tick!(t) : this.fn(t);
  }
}
