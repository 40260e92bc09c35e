import { rowOf } from "./frame.js";
import { FunctionTwin } from "./functions.js";

/** Drives a function of single records. Records are { time, values }; without a time it is null. */
export class MapTwin extends FunctionTwin {
  /** Throws a Refusal where the plug-in refuses the arguments. */
  constructor(plugin, args = {}) {
    super(plugin, "map", "tm_map", args);
  }

  /** Gives a list of rows for each record. One that a host would not show gives none. */
  show(...records) {
    const rows = records.map(() => []);
    for (const { item, body } of this.run(records).entries) rows[item].push(rowOf(this.spec.outputs, body));
    return rows;
  }

  /** Checks that what becomes of a record follows from that record alone. Throws an Error that says what is broken. */
  laws(...records) {
    this.cut(records);
  }
}
