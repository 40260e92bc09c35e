import { complete, FunctionTwin, STATE } from "./functions.js";

const VERDICTS = ["continue", "fire", "purge", "fire and purge"], NO_TIME = -(2n ** 63n);
const ELEMENT = 0, TIMER = { event: 1, processing: 2 }, MERGE = 3, CLEAR = 4, ENDING = 1;
const SET = { 1: "event", 2: "processing" }, DELETE = { 3: "event", 4: "processing" };

/**
 * Drives a trigger; states and timers are those of its panes. watermark, now and ending
 * are what the trigger sees from there on. Timers do not come due by themselves: a test
 * calls Pane.timer.
 */
export class TriggerTwin extends FunctionTwin {
  watermark = NO_TIME;
  now = 0n;
  ending = false;

  /** Throws a Refusal where the plug-in refuses the arguments. */
  constructor(plugin, args = {}) {
    super(plugin, "trigger", "tm_trigger", args);
  }

  /** Begins a window of one key. */
  pane(start, end) {
    return new Pane(this, start, end);
  }

  shows({ what, record }) {
    return what !== ELEMENT || complete(this.spec.inputs, record.values);
  }

  names({ pane, from }) {
    return this.spec.state ? [pane, undefined, from] : [];
  }

  layout(frame, ops, [keys]) {
    const at = frame.area(64 * ops.length), records = ops.filter((o) => o.what === ELEMENT).map((o) => o.record);
    ops.forEach((o, i) => {
      const to = at + 64 * i, [pane, , from] = this.names(o);
      const time = o.what === ELEMENT ? o.record.time ?? NO_TIME : o.time ?? 0;
      [o.pane.start, o.pane.end, this.watermark, this.now, time].forEach((t, k) => frame.i64(to + 8 * k, t instanceof Date ? t.getTime() : t));
      const row = o.what === ELEMENT ? records.indexOf(o.record) : 0;
      [o.what, keys.of(pane), row, o.what === MERGE ? keys.of(from) : 0, this.ending ? ENDING : 0].forEach((v, k) => frame.u32(to + 40 + 4 * k, v));
    });
    return { at, lists: [{ columns: this.spec.inputs, records, what: "record" }] };
  }
}

/** A window of one key, with what a host keeps of the trigger for it. Verdicts are "continue", "fire", "purge" and "fire and purge". */
class Pane {
  constructor(twin, start, end) {
    Object.assign(this, { twin, start, end, set: { event: new Set(), processing: new Set() } });
  }

  /** What the trigger keeps of the window, undefined for nothing. */
  get state() {
    return this.twin.states[0].get(this);
  }

  /** The timers of a domain, "event" or "processing", that are set, earliest first: bigints. */
  timers(domain) {
    return [...this.set[domain]].sort((a, b) => a < b ? -1 : 1);
  }

  /**
   * Shows the trigger records { time, values } of the window, in one call, and gives a
   * verdict for each. After a Refusal state and timers are what they were. A record that a
   * host would not show is left out.
   */
  elements(...records) {
    return this.show(this.operations(records));
  }

  /** Lets a time come: its timer is no longer set. Gives the verdict. */
  timer(domain, time) {
    this.set[domain].delete(BigInt(time));
    return this.show([{ what: TIMER[domain], time }])[0];
  }

  /** Lets the window go; its state is gone behind it. */
  clear() {
    this.show([{ what: CLEAR }]);
    this.twin.states[0].delete(this);
  }

  /** Lets the window take over what the trigger keeps of another one. */
  merge(old) {
    if (!this.twin.spec.merges) throw new Error("the trigger has no merge, so that a host uses it with no session");
    this.show([{ what: MERGE, from: old }]);
    this.twin.states[0].delete(old);
  }

  /** Checks that what is said of the records follows from them and the state. Throws an Error that says what is broken. */
  laws(...records) {
    this.twin.cut(this.operations(records).map((o) => ({ ...o, pane: this })));
  }

  operations(records) {
    return records.map((record) => ({ what: ELEMENT, record: { ...record } })); // one that is shown twice is two
  }

  show(ops) {
    const verdicts = ops.map(() => 0), { twin } = this;
    for (const { item, what, body } of twin.keep(ops.map((o) => ({ ...o, pane: this })))) {
      if (what >= STATE) continue;
      const view = new DataView(body.buffer), time = view.getBigInt64(0, true);
      if (what === 0) verdicts[item] = Number(time);
      else if (what in SET) this.set[SET[what]].add(time);
      else if (what in DELETE) this.set[DELETE[what]].delete(time);
      else throw new Error(`BUG: a trigger answers ${what}`);
    }
    if (!twin.spec.may_purge && verdicts.some((v) => v > 1)) throw new Error("the trigger purges, and its manifest does not say that it may");
    return verdicts.map((v) => VERDICTS[v]);
  }
}
