// What the twins of functions share, those of all kinds but aggregates: the calls that
// show items, between which a host may cut anywhere, and what is answered to each.
import { Frame, OUTPUT_FULL } from "./frame.js";
import { Driver } from "./instance.js";

/** What an entry is, beside a row; and one more is the state of a window. */
export const STATE = 0x80000000;

/** Whether a host shows what has these values. */
export function complete(columns, values = {}) {
  return columns.every((c) => c.nullable || values[c.name] != null);
}

/**
 * A twin that shows items. Each kind says in layout(frame, items, slots) how items lie in
 * a frame, and gives what the block names of them: { at, lists }, where a list is
 * { columns, records, what }. In names(item) it says which states an item has, by names
 * of its own: [of the key, of the window, of another key that it reads]. shows(item) says
 * whether a host would show it.
 */
export class FunctionTwin extends Driver {
  constructor(plugin, kind, call, args) {
    super(plugin, kind, args);
    this.export = call;
    this.states = [new Map(), new Map()]; // by name: those of keys, and those of windows
  }

  shows(record) {
    return complete(this.spec.inputs, record.values);
  }

  names() {
    return [];
  }

  layout(frame, records) {
    return { lists: [{ columns: this.spec.inputs, records, what: "record" }] };
  }

  /**
   * Shows items in calls of at most size, the first one of at most first, on fresh
   * instances unless there is one. Gives the entries, and the states behind them, and
   * keeps nothing. Items of entries and of errors count through all items.
   */
  run(items, { first = items.length, size = items.length, room, instance } = {}) {
    const place = [...items.keys()].filter((i) => this.shows(items[i]));
    const states = this.states.map((kept) => new Map(kept)), entries = [];
    for (let done = 0; done < place.length;) {
      const at = place.slice(done, done + (done === 0 ? first : size)), part = at.map((i) => items[i]);
      const answer = this.call(part, at, states, instance, room);
      for (const { item, what, body } of answer.entries) {
        const sort = what - STATE;
        if (sort >= 0) states[sort].set(this.names(part[item])[sort], body);
        entries.push({ item: at[item], what, body });
      }
      done += answer.done;
    }
    return { entries, states };
  }

  /** Runs and keeps the states. */
  keep(items) {
    const { entries, states } = this.run(items);
    this.states = states;
    return entries;
  }

  /** Makes one call for items at some places, in as much room as the first one needs. */
  call(items, place, states, instance = this.start(), room) {
    for (;;) {
      const frame = this.frame(items, states, instance);
      let status;
      try {
        status = frame.serve(this.export, room);
      } catch (e) {
        if (e.op !== undefined) e.op = place[e.op] ?? e.op;
        throw e;
      }
      const done = status === OUTPUT_FULL ? frame.get("done") : items.length;
      if (done > 0) return { done, entries: frame.entries(done) };
      if (room === undefined) throw new Error(`what is answered to item ${place[0]} does not fit into the arena`);
      room = room < 1 << 20 ? 2 * room : undefined;
    }
  }

  frame(items, states, instance) {
    instance.log = "";
    const frame = new Frame(instance), slots = states.map((kept) => new Slots(kept));
    for (const item of items) {
      const [key, window, from] = this.names(item);
      slots[0].of(key);
      slots[1].of(window);
      slots[0].of(from);
    }
    frame.set("rows", items.length);
    const { at = 0, lists } = this.layout(frame, items, slots), block = [at];
    for (const { pieces } of slots) block.push(pieces.length > 0 ? frame.accs(pieces, 0) : 0, pieces.length);
    block.push(0);
    for (const { columns, records, what } of lists) block.push(records.length, frame.list(columns, records, what), columns.length + 1);
    frame.set("block", frame.area(48));
    block.forEach((v, i) => frame.u32(frame.get("block") + 4 * i, v));
    return frame;
  }

  /**
   * Checks what hosts rely on (abi/SPEC.md, section 6): what is answered to an item
   * follows from that item and its states, so a frame may be cut between any two, and
   * called for again, also on an instance that has seen other calls. Throws an Error that
   * says what is broken.
   */
  cut(items) {
    const want = shown(this.run(items)), same = (how, options) => {
      const got = shown(this.run(items, options));
      const i = want.findIndex((e, k) => e !== got[k]);
      if (i >= 0 || want.length !== got.length) {
        const k = i < 0 ? want.length : i;
        throw new Error(`${how}: the answer has ${got[k] ?? "no entry"} where one call has ${want[k] ?? "none"}`);
      }
    };
    for (let first = 1; first < items.length; first++) same(`cut behind item ${first} of ${items.length}`, { first });
    same("one by one", { first: 1, size: 1 });
    same("in little room", { room: 64 });
    const instance = this.start();
    this.run(items, { instance });
    same("again on the same instance", { instance });
  }
}

function shown({ entries }) {
  return entries.map(({ item, what, body }) => `item ${item}, what ${what.toString(16)}, body ${Buffer.from(body).toString("hex")}`);
}

/** The states of one sort in a frame, by name. */
class Slots {
  constructor(kept) {
    this.kept = kept;
    this.names = [];
  }

  /** The number of a state; without a name there is none. */
  of(name) {
    if (name === undefined) return 0xFFFFFFFF;
    if (!this.names.includes(name)) this.names.push(name);
    return this.names.indexOf(name);
  }

  get pieces() {
    return this.names.map((name) => this.kept.get(name) ?? new Uint8Array());
  }
}
