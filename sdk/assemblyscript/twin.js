// The native twin: a host in miniature, which drives a plug-in in unit tests that node
// runs. It writes the frames of abi/SPEC.md, each call as on a fresh instance; the
// plug-in's code and the SDK's are what runs in a host, as JavaScript (see compile.js).
//
// Records and arguments are objects by the name of the column; what is left out, null or
// undefined is null. int64 takes a bigint or a whole number, float64 a number, timestamp
// also a Date. Rows are such objects too, without the columns that are null; int64 and
// timestamp are bigints there. Accumulators and states are Uint8Array, as the host keeps
// them.
import { Frame, OUTPUT_FULL } from "./frame.js";
import { Driver } from "./instance.js";
import { laws } from "./laws.js";

export { AssignerTwin } from "./twin_assigner.js";
export { MapTwin } from "./twin_map.js";
export { PairTwin } from "./twin_pair.js";
export { ProcessTwin } from "./twin_process.js";
export { TriggerTwin } from "./twin_trigger.js";
export { WatermarkTwin } from "./twin_watermark.js";
export { load, Refusal, Trap } from "./instance.js";

/** Drives an aggregate with a job's arguments. */
export class Twin extends Driver {
  /** Throws a Refusal where the plug-in refuses the arguments. */
  constructor(plugin, args = {}) {
    super(plugin, "aggregate", args);
  }

  /** Folds records into an accumulator, null for a fresh one, and gives the new one. */
  add(acc, ...records) {
    const rows = records.filter((r) => this.spec.inputs.every((c) => c.nullable || r[c.name] != null));
    const group = rows.map(() => 0);
    if (this.spec.accumulator.width > 0) {
      return this.call("add", { rows, group, accs: [acc ?? this.create()] }).accs[0];
    }
    const part = this.call("add", { rows, group, accs: [null] }).accs[0];
    return acc ? this.merge(acc, part) : part;
  }

  /** A fresh accumulator. */
  create() {
    return this.call("create", { accs: [null] }).accs[0];
  }

  /** Folds the records behind from into acc and gives the new accumulator. */
  merge(acc, from) {
    return this.call("merge", { accs: [acc ?? this.create()], from: [from ?? this.create()] }).accs[0];
  }

  /** The result row of an accumulator, null for a fresh one. */
  result(acc) {
    return this.call("result", { accs: [acc ?? this.create()] }).rows[0];
  }

  /**
   * Checks the laws of aggregates (abi/SPEC.md, section 6) on some records, and what the
   * Spec promises beyond them. Throws an Error that says what is broken. A host believes
   * a Spec; a plug-in's tests should not.
   */
  laws(...records) {
    laws(this, records);
  }

  /**
   * Makes one call on a fresh instance. accs are as many as there are groups; room is
   * the bytes of the output area, by default all that is left of the arena. Gives status
   * and done, and what the frame carries back: accs or rows, as many as are done.
   */
  call(op, { rows = [], group = [], accs = [], from = [], room }) {
    const frame = new Frame(this.start()), { inputs, outputs, accumulator: { width } } = this.spec;
    frame.set("groups", accs.length);
    if (op === "add") {
      frame.columns(inputs, rows, "record");
      frame.set("group", frame.area(4 * group.length));
      group.forEach((g, i) => frame.u32(frame.get("group") + 4 * i, g));
    }
    if (width > 0 || op === "merge" || op === "result") frame.set("acc", frame.accs(accs, width));
    if (op === "merge") frame.set("from", frame.accs(from, width));
    if (op === "result") frame.outputs(outputs);
    const status = frame.serve("tm_aggregate_" + op, room);
    const done = status === OUTPUT_FULL ? frame.get("done") : accs.length;
    if (op === "result") return { status, done, rows: frame.rows(outputs, done), accs: width > 0 ? frame.fixed(accs.length, width) : [] };
    return { status, done, accs: width > 0 ? frame.fixed(accs.length, width) : frame.answered(done) };
  }
}
