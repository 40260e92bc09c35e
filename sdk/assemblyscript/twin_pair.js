import { rowOf } from "./frame.js";
import { complete, FunctionTwin } from "./functions.js";

/** Drives a pair function. Records are { time, values }; without a time it is null. */
export class PairTwin extends FunctionTwin {
  /** Throws a Refusal where the plug-in refuses the arguments. */
  constructor(plugin, args = {}) {
    super(plugin, "pair", "tm_pair", args);
  }

  /**
   * Shows every pair of the records, left one by left one, as a window join does, and
   * gives its rows. The time of a pair is the later one of the two. Records that a host
   * would not show are left out.
   */
  show(left, right) {
    return this.run(this.pairs(left, right)).entries.map(({ body }) => rowOf(this.spec.outputs, body));
  }

  /** Checks that what becomes of a pair follows from that pair alone. Throws an Error that says what is broken. */
  laws(left, right) {
    this.cut(this.pairs(left, right));
  }

  pairs(left, right) {
    return left.flatMap((l) => right.map((r) => ({ left: l, right: r })));
  }

  shows({ left, right }) {
    return complete(this.spec.left, left.values) && complete(this.spec.right, right.values);
  }

  layout(frame, pairs) {
    const at = frame.area(16 * pairs.length), sides = ["left", "right"].map((what) => {
      return { columns: this.spec[what], records: [...new Set(pairs.map((p) => p[what]))], what };
    });
    pairs.forEach((p, i) => {
      sides.forEach((s, k) => frame.u32(at + 16 * i + 4 * k, s.records.indexOf(p[s.what])));
      frame.i64(at + 16 * i + 8, later(p.left.time, p.right.time));
    });
    return { at, lists: sides };
  }
}

/** The later one of two times, 0 if neither is there. */
function later(a, b) {
  const times = [a, b].filter((t) => t != null).map((t) => BigInt(t));
  return times.length === 2 && times[0] < times[1] ? times[1] : times[0] ?? 0;
}
