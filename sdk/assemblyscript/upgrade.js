// Upgrades of what an older schema has kept, as a host asks for them.
import { Frame, OUTPUT_FULL } from "./frame.js";

const KEPT = { accumulator: 0, key: 1, window: 2, split: 3 }, BLOCK = 48;

/** A frame of tm_upgrade. */
export function upgradeFrame(instance, schema, what, states) {
  const frame = new Frame(instance);
  frame.set("groups", states.length);
  frame.set("acc", frame.accs(states, 0));
  frame.set("block", frame.area(BLOCK));
  [schema, KEPT[what]].forEach((v, i) => frame.u32(frame.get("block") + 4 * i, v));
  return frame;
}

/**
 * Makes one call on a fresh instance. room is the bytes of the output area, by default all
 * that is left of the arena. Gives the states that are done.
 */
export function upgrade(twin, schema, what, states, room) {
  const frame = upgradeFrame(twin.start(), schema, what, states);
  const status = frame.serve("tm_upgrade", room);
  return frame.answered(status === OUTPUT_FULL ? frame.get("done") : states.length);
}

/** Upgrades a state alone, and behind others like it, which must not make a difference. */
export function upgraded(twin, schema, old, what) {
  if (!(what in KEPT)) throw new Error(`what is upgraded: one of ${Object.keys(KEPT).join(", ")}`);
  const [[alone], many] = [1, 3].map((n) => upgrade(twin, schema, what, Array.from({ length: n }, () => old)));
  if (many.length !== 3 || Buffer.compare(alone, many[2]) !== 0) {
    throw new Error(`behind others the state becomes ${Buffer.from(many[2] ?? []).toString("hex")}, alone ${Buffer.from(alone).toString("hex")}: an upgrade must keep nothing`);
  }
  if (alone.length === 0 && what !== "accumulator") throw new Error("the state becomes empty: hosts do not take that");
  return alone;
}
