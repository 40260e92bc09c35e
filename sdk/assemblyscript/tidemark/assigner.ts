// Window assigners: which windows a record belongs to.
import { answer, What } from "./answer";
import { Input } from "./column";
import { Frame, Row } from "./frame";
import { Block, Items } from "./items";
import { Records } from "./list";
import { checkInputs, Json } from "./manifest";
import { Op, register } from "./plugin";
import { ModuleSpec } from "./spec";

/** Describes a window assigner. */
export class AssignerSpec extends ModuleSpec {
  /** Columns of the records, beside their times. */
  inputs: Input[] = [];
  /**
   * Windows of a key that overlap or touch become one, as sessions do. A record is then
   * in one window at most.
   */
  merges: bool = false;
}

/**
 * Registers a function that is shown records one by one and says which windows each
 * belongs to. It keeps nothing: what it does for a record follows from that record alone.
 * A text in place of null refuses the record. A module registers one plug-in.
 */
export function windowAssigner(spec: AssignerSpec, fn: (a: Assigned) => string | null): void {
  register(new Assigner(spec, fn));
}

/** A window as it lies in an entry. */
@unmanaged
class Window {
  start: i64;
  end: i64;
}

/** What a window assigner is shown. It means nothing after the function returns. */
export class Assigned {
  /** Names the values of the assigner's inputs. */
  row: Row = 0;

  constructor(private records: Records) {}

  /** The record's event time in ms since 1970. */
  get time(): i64 { return this.records.time(this.row); }

  /**
   * Puts the record into the window of times from start up to, not including, end. It may
   * be in up to 1,000; the same one twice is one, and without any it is in no window.
   */
  window(start: i64, end: i64): void {
    const w = changetype<Window>(scratch);
    w.start = start;
    w.end = end;
    answer.bytes(What.ROW, scratch, <u32>offsetof<Window>());
  }
}

const scratch = memory.data(16, 8);

/** Exported for the tests of the SDK. */
export class Assigner extends Items {
  private shown: Assigned;

  constructor(private own: AssignerSpec, private fn: (a: Assigned) => string | null, records: Records = new Records(own.inputs)) {
    super(own, "window assigner", "assigner", Op.ASSIGN, [records]);
    this.shown = new Assigned(records);
  }

  check(): string | null { return checkInputs("input", this.own.inputs); }

  protected describe(to: Json): void {
    to.inputs("inputs", this.own.inputs);
    to.params(this.own.params);
    if (this.own.merges) to.bool("merges", true);
  }

  protected open(f: Frame, b: Block): bool { return b.rows0 == f.rows; }

  protected show(i: u32): string | null {
    this.shown.row = i;
    return this.fn(this.shown);
  }
}
