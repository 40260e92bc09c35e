// Process functions: what is shown each firing of a window.
import { answer, What } from "./answer";
import { bindInputs, Input } from "./column";
import { Frame, Row } from "./frame";
import { Block, checkState, checkStateUpgrades, Items } from "./items";
import { jsonString } from "./json";
import { Records } from "./list";
import { checkInputs, checkNames, checkOutputs, Json } from "./manifest";
import { Output } from "./output";
import { Op, register } from "./plugin";
import { ModuleSpec } from "./spec";
import { State, Stateful } from "./state";
import { Upgrade } from "./upgrade";

/** Bounds side outputs (abi/SPEC.md, section 2). */
const MAX_SIDES = 16;

/** Describes a process function. */
export class ProcessSpec extends ModuleSpec {
  /**
   * Columns with a value for each firing: results of aggregates and fields of the key,
   * as the job binds them. Read them at Firing.row.
   */
  inputs: Input[] = [];
  /** Asks for the records of each firing; or left and right, both, for those of the two sides of a coGroup. */
  records: Records | null = null;
  left: Records | null = null;
  right: Records | null = null;
  /** Columns of the results. */
  outputs: Output[] = [];
  side: SideOutput[] = [];
  /**
   * What the function keeps of each key, for all of its windows, and of each window;
   * null: nothing. Windows that merge have no state.
   */
  keyState: State | null = null;
  windowState: State | null = null;
  /** The version of the states' layout, to be raised when it changes. */
  schema: i32 = 1;
  /** The older layouts that it converts from. */
  upgrades: Upgrade[] = [];
}

/** A further output: the job's sinks read it as STEP.NAME. */
export class SideOutput {
  /** Its number in the answer. Set by the SDK. */
  number: u32 = 0;

  constructor(readonly name: string, readonly outputs: Output[]) {}

  /** Begins a row of it. The one that was begun before is complete, of whatever output. */
  emit(f: Firing): Row {
    if (this.number == 0) throw new Error("tidemark: side output " + jsonString(this.name) + " belongs to no function: name it in its spec");
    return answer.emit(this.number, this.outputs);
  }
}

/**
 * Registers a function that is shown each firing of a window and gives any number of
 * rows. What it does for a firing follows from that firing and its states alone: it keeps
 * nothing else, and reads no clock but the firing's. A text in place of null refuses the
 * firing: its window gives no rows then, and states are what they were. A module
 * registers one plug-in.
 */
export function processFunction(spec: ProcessSpec, fn: (f: Firing) => string | null): void {
  register(new ProcessFunction(spec, fn));
}

/** A firing as it lies in memory. */
@unmanaged
class FiringData {
  start: i64;
  end: i64;
  watermark: i64;
  now: i64;
  key: u32;
  window: u32;
  revision: u32;
  zero: u32;
  from0: u32;
  to0: u32;
  from1: u32;
  to1: u32;

  /** Where the firing's records of a list begin. */
  from(list: i32): u32 { return load<u32>(changetype<usize>(this) + (<usize>list << 3), offsetof<FiringData>("from0")); }

  /** Where they end. */
  to(list: i32): u32 { return load<u32>(changetype<usize>(this) + (<usize>list << 3), offsetof<FiringData>("to0")); }
}

/** What a process function is shown: one firing of a window of a key. It means nothing after the function returns. */
export class Firing extends Stateful {
  data: FiringData = changetype<FiringData>(0);
  /** Names the values of the function's inputs. */
  row: Row = 0;

  constructor(private outputs: Output[]) { super(); }

  slot(what: u32): u32 { return what == What.WINDOW_STATE ? this.data.window : this.data.key; }

  /** The window holds times from start up to, not including, end. A global window holds all times. */
  get start(): i64 { return this.data.start; }
  get end(): i64 { return this.data.end; }

  /** How far event time was when the window fired. */
  get watermark(): i64 { return this.data.watermark; }

  /** The host's clock. Rows that depend on it differ from run to run. */
  get now(): i64 { return this.data.now; }

  /** The earlier firings of the window: above 0 this one is an update. */
  get revision(): u32 { return this.data.revision; }

  /** Begins a row of the results. The one that was begun before is complete: to set a column of it ends the call. */
  emit(): Row { return answer.emit(What.ROW, this.outputs); }
}

/** Exported for the tests of the SDK. */
export class ProcessFunction extends Items {
  private firings: usize = 0;

  constructor(private own: ProcessSpec, private fn: (f: Firing) => string | null, private shown: Firing = new Firing(own.outputs)) {
    super(own, "process function", "process", Op.PROCESS, []);
    const records = own.records, left = own.left, right = own.right;
    if (records !== null) this.lists.push(records);
    if (left !== null) this.lists.push(left);
    if (right !== null) this.lists.push(right);
    this.upgrades = own.upgrades;
    this.keep(own.keyState, What.STATE);
    this.keep(own.windowState, What.WINDOW_STATE);
    for (let i = 0; i < own.side.length; i++) own.side[i].number = i + 1;
  }

  check(): string | null {
    const s = this.own;
    if ((s.left === null) != (s.right === null)) return "one of left and right: a function of both sides has both";
    if (s.left !== null && s.records !== null) return "records beside left and right";
    if (s.left !== null && s.left === s.right) return "left and right are one list";
    if (s.keyState !== null && s.keyState === s.windowState) return "keyState and windowState are one state";
    let problem = checkState(s.keyState, s.schema);
    if (problem === null) problem = checkState(s.windowState, s.schema);
    if (problem === null) problem = checkStateUpgrades(this.states.length, s.schema, s.upgrades);
    if (problem === null) problem = checkInputs("input", s.inputs);
    if (problem === null) problem = checkOutputs(s.outputs);
    for (let i = 0; i < this.lists.length && problem === null; i++) problem = checkInputs("record column", this.lists[i].columns);
    return problem !== null ? problem : this.checkSides();
  }

  private checkSides(): string | null {
    const side = this.own.side, names: string[] = [];
    if (side.length > MAX_SIDES) return "more than 16 side outputs";
    for (let i = 0; i < side.length; i++) {
      const name = side[i].name;
      if (name == "results" || name == "late" || name == "failed" || name == "bad") {
        return "side output " + jsonString(name) + ": every step has an output of that name";
      }
      const problem = checkOutputs(side[i].outputs);
      if (problem !== null) return "side output " + jsonString(name) + ": " + problem;
      names.push(name);
    }
    return checkNames("side output", names);
  }

  protected describe(to: Json): void {
    const s = this.own;
    to.inputs("inputs", s.inputs);
    for (let i = 0; i < this.lists.length; i++) {
      to.inputs(s.records !== null ? "records" : i == 0 ? "left" : "right", this.lists[i].columns);
    }
    to.outputs(s.outputs);
    const sides: string[] = [];
    for (let i = 0; i < s.side.length; i++) {
      const side = new Json();
      side.text("name", s.side[i].name);
      side.outputs(s.side[i].outputs);
      sides.push(side.object());
    }
    to.list("side", sides);
    to.params(s.params);
    if (this.states.length == 0) return;
    const state = new Json();
    state.bool("key", s.keyState !== null);
    state.bool("window", s.windowState !== null);
    state.int("schema", s.schema);
    state.upgrades(s.upgrades, false);
    to.member("state", state.object());
  }

  private firing(i: u32): FiringData { return changetype<FiringData>(this.firings + i * offsetof<FiringData>()); }

  protected open(f: Frame, b: Block): bool {
    const key = this.own.keyState, window = this.own.windowState, lists = this.lists;
    this.firings = f.area(b.items, f.rows * offsetof<FiringData>());
    if (this.firings == 0 || !bindInputs(f, this.own.inputs)) return false;
    if (key !== null && !key.open(f, b.keys, b.nkeys)) return false;
    if (window !== null && !window.open(f, b.windows, b.nwindows)) return false;
    for (let i: u32 = 0, n = f.rows; i < n; i++) {
      const d = this.firing(i);
      if (key !== null && !key.has(d.key) || window !== null && !window.has(d.window)) return false;
      for (let l = 0; l < lists.length; l++) {
        if (!lists[l].spans(d.from(l), d.to(l))) return false;
      }
    }
    return true;
  }

  protected show(i: u32): string | null {
    this.shown.row = i;
    this.shown.data = this.firing(i);
    return this.fn(this.shown);
  }
}
