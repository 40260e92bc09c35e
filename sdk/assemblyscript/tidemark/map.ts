// Functions of single records.
import { answer, What } from "./answer";
import { Input } from "./column";
import { Frame, Row } from "./frame";
import { Block, Items } from "./items";
import { Records } from "./list";
import { checkInputs, checkOutputs, Json } from "./manifest";
import { Output } from "./output";
import { Op, register } from "./plugin";
import { ModuleSpec } from "./spec";

/** Describes a function of single records. */
export class MapSpec extends ModuleSpec {
  /** Columns of the record. */
  inputs: Input[] = [];
  /**
   * Fields of the records that come of it, beside those that it has: of one with the
   * same name the new one stands.
   */
  outputs: Output[] = [];
}

/**
 * Registers a function that is shown records one by one and makes records of each: none,
 * so that it is a filter, one, or several. All of them have the record's time. It keeps
 * nothing: what it does for a record follows from that record alone. A text in place of
 * null refuses the record. A module registers one plug-in.
 */
export function mapFunction(spec: MapSpec, fn: (m: Mapped) => string | null): void {
  register(new MapFunction(spec, fn));
}

/** What a function of single records is shown. It means nothing after the function returns. */
export class Mapped {
  /** Names the values of the function's inputs. */
  row: Row = 0;

  constructor(private records: Records, private outputs: Output[]) {}

  /** The record's event time in ms since 1970; without one 0. */
  get time(): i64 { return this.records.time(this.row); }

  /** Whether the record has an event time. */
  get timed(): bool { return this.records.timed(this.row); }

  /** Begins a record. The one that was begun before is complete: to set a column of it ends the call. */
  emit(): Row { return answer.emit(What.ROW, this.outputs); }
}

/** Exported for the tests of the SDK. */
export class MapFunction extends Items {
  private shown: Mapped;

  constructor(private own: MapSpec, private fn: (m: Mapped) => string | null, records: Records = new Records(own.inputs)) {
    super(own, "map function", "map", Op.MAP, [records]);
    this.shown = new Mapped(records, own.outputs);
  }

  check(): string | null {
    const problem = checkInputs("input", this.own.inputs);
    return problem !== null ? problem : checkOutputs(this.own.outputs);
  }

  protected describe(to: Json): void {
    to.inputs("inputs", this.own.inputs);
    to.outputs(this.own.outputs);
    to.params(this.own.params);
  }

  protected open(f: Frame, b: Block): bool { return b.rows0 == f.rows; }

  protected show(i: u32): string | null {
    this.shown.row = i;
    return this.fn(this.shown);
  }
}
