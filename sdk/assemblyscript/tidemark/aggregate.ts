// What both sorts of aggregates share.
import { answer } from "./answer";
import { Agenda } from "./apply";
import { bindInputs } from "./column";
import { Frame, Status } from "./frame";
import { checkInputs, checkOutputs, checkSchema, checkUpgrades, Json } from "./manifest";
import { bindOutputs } from "./output";
import { Op, Plugin } from "./plugin";
import { Spec } from "./spec";
import { serveUpgrades } from "./upgrade";

/** A registered aggregate. */
export abstract class Aggregate extends Plugin {
  private agenda: Agenda = new Agenda();

  /** width is the bytes of an accumulator; 0: it varies. */
  constructor(private own: Spec, private width: u32) { super(own, "aggregate", "aggregate"); }

  /** The calls of abi/SPEC.md, section 4. The columns are bound already. */
  protected abstract create(f: Frame): Status;
  protected abstract add(f: Frame): Status;
  protected abstract merge(f: Frame): Status;
  /** Writes the result row of accumulator i; a text refuses it. */
  protected abstract write(i: u32): string | null;
  /** Finds the accumulators of a call to result. */
  protected abstract openAccs(f: Frame): bool;
  /** Carries out operations; only accumulators of a fixed size have them. */
  protected apply(f: Frame, agenda: Agenda): Status { return Status.BAD_FRAME; }

  check(): string | null {
    const s = this.own;
    let problem = checkSchema(s.schema);
    if (problem === null) problem = checkUpgrades(s.schema, s.upgrades, this.width);
    if (problem === null) problem = checkInputs("input", s.inputs);
    return problem !== null ? problem : checkOutputs(s.outputs);
  }

  protected describe(to: Json): void {
    const s = this.own, accumulator = new Json();
    to.inputs("inputs", s.inputs);
    to.outputs(s.outputs);
    to.params(s.params);
    accumulator.int("width", this.width);
    accumulator.int("schema", s.schema);
    accumulator.upgrades(s.upgrades, true);
    to.member("accumulator", accumulator.object());
    to.bool("order_insensitive", s.orderInsensitive);
    to.bool("exact", s.exact);
    if (this.width > 0) to.bool("apply", true);
  }

  protected serve(o: Op, f: Frame): Status {
    switch (o) {
      case Op.CREATE: return this.create(f);
      case Op.ADD: return bindInputs(f, this.own.inputs) ? this.add(f) : Status.BAD_FRAME;
      case Op.MERGE: return this.merge(f);
      case Op.RESULT: return bindOutputs(f, this.own.outputs, f.groups) && this.openAccs(f) ? this.result(f) : Status.BAD_FRAME;
      case Op.APPLY: return this.agenda.open(f, this.own.inputs, this.own.outputs) ? this.apply(f, this.agenda) : Status.BAD_FRAME;
      case Op.UPGRADE: return serveUpgrades(f, this.own.upgrades, this.width);
      default: return Status.BAD_FRAME;
    }
  }

  private result(f: Frame): Status {
    answer.open(f);
    for (let i: u32 = 0, n = f.groups; i < n; i++) {
      answer.begin(i);
      answer.result(i);
      const status = answer.end(this.write(i));
      if (status != Status.OK) return status;
    }
    return Status.OK;
  }
}
