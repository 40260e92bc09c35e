import { FunctionTwin } from "./functions.js";

/** The most windows of a record (abi/SPEC.md). */
const WINDOWS = 1000;

/** Drives a window assigner. Records are { time, values }. */
export class AssignerTwin extends FunctionTwin {
  /** Throws a Refusal where the plug-in refuses the arguments. */
  constructor(plugin, args = {}) {
    super(plugin, "assigner", "tm_assign", args);
  }

  /**
   * Gives the windows of each record: a list of [start, end], bigints. One that a host
   * would not show is in none. Throws where a host would refuse what the assigner says.
   */
  show(...records) {
    const windows = records.map(() => []), most = this.spec.merges ? 1 : WINDOWS;
    for (const { item, body } of this.run(records).entries) {
      const view = new DataView(body.buffer), start = view.getBigInt64(0, true), end = view.getBigInt64(8, true), of = windows[item];
      if (start >= end) throw new Error(`record ${item}: a window from ${start} to ${end} holds no time`);
      if (of.some((w) => w[0] === start && w[1] === end)) continue;
      if (of.push([start, end]) > most) throw new Error(`record ${item} is in more than ${most} window${most > 1 ? "s" : ""}`);
    }
    return windows;
  }

  /** A record without a time is in no window. */
  shows(record) {
    return record.time != null && super.shows(record);
  }

  /** Checks that the windows of a record follow from that record alone. Throws an Error that says what is broken. */
  laws(...records) {
    this.cut(records);
  }
}
