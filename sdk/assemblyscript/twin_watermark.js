import { rowOf } from "./frame.js";
import { FunctionTwin, STATE } from "./functions.js";

const COLUMNS = [{ name: "watermark", type: "timestamp" }], SPLIT = "split";

/** Drives a watermark generator for one split. Records are { time, values }. */
export class WatermarkTwin extends FunctionTwin {
  /** Throws a Refusal where the plug-in refuses the arguments. */
  constructor(plugin, args = {}) {
    super(plugin, "watermark", "tm_watermark", args);
  }

  /** What the generator keeps of the split, undefined for nothing. */
  get state() {
    return this.states[0].get(SPLIT);
  }

  /**
   * Gives what the generator says behind each record: a bigint, or null for nothing. Behind
   * one that a host would not show stands null. After a Refusal the state is what it was.
   */
  show(...records) {
    const said = records.map(() => null);
    for (const { item, what, body } of this.keep(records)) {
      if (what !== STATE) said[item] = rowOf(COLUMNS, body).watermark ?? said[item];
    }
    return said;
  }

  /** Lets the generator look at a clock, and gives what it says, null for nothing. */
  tick(now) {
    [this.export, this.ticking] = ["tm_watermark_tick", true];
    try {
      return this.show({ time: now })[0];
    } finally {
      [this.export, this.ticking] = ["tm_watermark", false];
    }
  }

  /** Checks that what is said follows from the records and the state. Throws an Error that says what is broken. */
  laws(...records) {
    this.cut(records);
  }

  shows(record) {
    return this.ticking || super.shows(record);
  }

  names() {
    return [SPLIT];
  }

  layout(frame, records) {
    return this.ticking ? { lists: [{ columns: [], records, what: "tick" }] } : super.layout(frame, records);
  }
}
