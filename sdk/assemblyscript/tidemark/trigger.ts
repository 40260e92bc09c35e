// Triggers: when a window fires, and when it is emptied.
import { answer, What } from "./answer";
import { Input } from "./column";
import { Frame, refuses, Row } from "./frame";
import { Block, checkState, checkStateUpgrades, describeState, Items } from "./items";
import { Records } from "./list";
import { checkInputs, Json } from "./manifest";
import { Op, register } from "./plugin";
import { ModuleSpec } from "./spec";
import { State, Stateful } from "./state";
import { Upgrade } from "./upgrade";

/** The time that a timer belongs to. What goes by PROCESSING_TIME, the host's clock, differs from run to run. */
export const enum Domain { EVENT_TIME, PROCESSING_TIME }

/** The time of a record that has none, at Pane.time. */
export const NO_TIME: i64 = i64.MIN_VALUE;

/** Describes a trigger. All of its functions give null, or the text of a refusal. */
export class TriggerSpec extends ModuleSpec {
  /** Columns of the records, beside their times. */
  inputs: Input[] = [];
  /** What the trigger keeps of each window of each key; null: nothing. */
  state: State | null = null;
  /** The version of the state's layout, to be raised when it changes. */
  schema: i32 = 1;
  /** The older layouts that it converts from. */
  upgrades: Upgrade[] = [];
  /** It calls Pane.purge. If it does so without saying it here, that is a mistake of the trigger's. */
  mayPurge: bool = false;

  /** Is shown every record of a window. A refusal refuses the record. */
  element: ((p: Pane) => string | null) | null = null;
  /**
   * Is called when a time that was set has come: Pane.time in Pane.domain. It is also
   * shown timers of the host's, such as that of the window's cleanup. null: timers mean
   * nothing. After a refusal the window fires as if it had no trigger of its own.
   */
  timer: ((p: Pane) => string | null) | null = null;
  /** Is called when the window goes, to delete timers that are still set; null: there are none. The state goes by itself. */
  clear: ((p: Pane) => string | null) | null = null;
  /**
   * Takes over the state of a session that becomes a part of this one; null: the trigger
   * cannot be used with sessions. Timers of the other one are gone.
   */
  merge: ((p: Pane, old: Merged) => string | null) | null = null;
}

/**
 * Registers a trigger, which decides when windows fire. It sees records and timers, never
 * what the window has made of them, and keeps nothing but its state. A module registers
 * one plug-in.
 */
export function trigger(spec: TriggerSpec): void {
  register(new Trigger(spec));
}

/** What an operation is. */
namespace On {
  export const ELEMENT: u32 = 0;
  export const PROCESSING_TIMER: u32 = 2; // 1 is that of event time
  export const MERGE: u32 = 3;
  export const CLEAR: u32 = 4;
}

/** The bit of PaneData.flags that says that the input has ended. */
const ENDING: u32 = 1;

/** The bits of a verdict. */
const FIRE: u64 = 1, PURGE: u64 = 2;

/** An operation as it lies in memory. */
@unmanaged
class PaneData {
  start: i64;
  end: i64;
  watermark: i64;
  now: i64;
  time: i64;
  what: u32;
  slot: u32;
  row: u32;
  from: u32;
  flags: u32;
  zero: u32;
}

/** What a trigger is shown: a window of a key, and a record or a timer. It means nothing after the function returns. */
export class Pane extends Stateful {
  data: PaneData = changetype<PaneData>(0);
  /** What the function says. */
  verdict: u64 = 0;

  slot(_what: u32): u32 { return this.data.slot; }

  /** Names the values of the trigger's inputs, in element. */
  get row(): Row { return this.data.row; }

  /** The record's event time, NO_TIME if it has none; in timer the timer's. */
  get time(): i64 { return this.data.time; }

  /** That of the timer, in timer. */
  get domain(): Domain { return this.data.what == On.PROCESSING_TIMER ? Domain.PROCESSING_TIME : Domain.EVENT_TIME; }

  /** The window holds times from start up to, not including, end. A global window holds all times. */
  get start(): i64 { return this.data.start; }
  get end(): i64 { return this.data.end; }

  /** The last time that the window holds: when the watermark reaches it, the window is complete. */
  get last(): i64 {
    const d = this.data, global = d.start == i64.MIN_VALUE && d.end == i64.MAX_VALUE;
    return global ? d.end : d.end - 1;
  }

  /** How far event time is. */
  get watermark(): i64 { return this.data.watermark; }

  /** The host's clock. */
  get now(): i64 { return this.data.now; }

  /**
   * The input has ended: event time goes on to its end, timer by timer. In a global
   * window only a timer at last can then still be set.
   */
  get ending(): bool { return (this.data.flags & ENDING) != 0; }

  /** Lets the window give a result. In merge and clear it says nothing, as purge. */
  fire(): void { this.verdict |= FIRE; }

  /** Drops the window's contents, behind the result if it fires too. */
  purge(): void { this.verdict |= PURGE; }

  /**
   * Asks for a call of timer at a time. Timers are a set: to set one twice is to set it
   * once. One that is not later than the present fires when time moves on.
   */
  setTimer(d: Domain, time: i64): void { answer.word(What.SET_TIMER + d, time); }

  /** Takes a timer back; one that is not set does no harm. */
  deleteTimer(d: Domain, time: i64): void { answer.word(What.DELETE_TIMER + d, time); }
}

/** A session that becomes a part of another one. It is for reading its state only. */
export class Merged extends Stateful {
  constructor(private pane: Pane) { super(); }

  slot(_what: u32): u32 { return this.pane.data.from; }

  get writable(): bool { return false; }
}

/** Exported for the tests of the SDK. */
export class Trigger extends Items {
  private old: Merged;
  private ops: usize = 0;

  constructor(private own: TriggerSpec, private records: Records = new Records(own.inputs), private shown: Pane = new Pane()) {
    super(own, "trigger", "trigger", Op.TRIGGER, [records]);
    this.old = new Merged(shown);
    this.upgrades = own.upgrades;
    this.keep(own.state, What.STATE);
  }

  check(): string | null {
    const s = this.own;
    if (s.element === null) return "element is null: it would never see a record";
    let problem = checkState(s.state, s.schema);
    if (problem === null) problem = checkStateUpgrades(this.states.length, s.schema, s.upgrades);
    return problem !== null ? problem : checkInputs("input", s.inputs);
  }

  protected describe(to: Json): void {
    const s = this.own;
    to.inputs("inputs", s.inputs);
    to.params(s.params);
    describeState(to, s.state, s.schema, s.upgrades);
    to.bool("may_purge", s.mayPurge);
    to.bool("merges", s.merge !== null);
  }

  private operation(i: u32): PaneData { return changetype<PaneData>(this.ops + i * offsetof<PaneData>()); }

  protected open(f: Frame, b: Block): bool {
    const state = this.own.state, records = this.records;
    this.ops = f.area(b.items, f.rows * offsetof<PaneData>());
    if (this.ops == 0 || state !== null && !state.open(f, b.keys, b.nkeys)) return false;
    for (let i: u32 = 0, n = f.rows; i < n; i++) {
      const d = this.operation(i);
      if (d.what > On.CLEAR || d.what == On.ELEMENT && !records.has(d.row)) return false;
      if (state !== null && (!state.has(d.slot) || d.what == On.MERGE && !state.has(d.from))) return false;
    }
    return true;
  }

  protected show(i: u32): string | null {
    const p = this.shown;
    p.data = this.operation(i);
    p.verdict = 0;
    const why = this.decide(p);
    if (!refuses(why) && p.verdict != 0 && p.data.what < On.MERGE) answer.word(What.VERDICT, p.verdict);
    return why;
  }

  /** Calls the author's function for an operation. */
  private decide(p: Pane): string | null {
    const s = this.own, what = p.data.what;
    if (what == On.MERGE) {
      const merge = s.merge;
      return merge === null ? null : merge(p, this.old);
    }
    const fn = what == On.ELEMENT ? s.element : what == On.CLEAR ? s.clear : s.timer;
    return fn === null ? null : fn(p);
  }
}
