import { rowOf } from "./frame.js";
import { complete, FunctionTwin, STATE } from "./functions.js";

/**
 * Drives a process function, and keeps its states. A firing is { key, start, end,
 * watermark, now, revision, inputs, records }, or with left and right in place of
 * records; key names the state of the key and is not shown. Records are { time, values };
 * without a time it is null.
 */
export class ProcessTwin extends FunctionTwin {
  /** Throws a Refusal where the plug-in refuses the arguments. */
  constructor(plugin, args = {}) {
    super(plugin, "process", "tm_process", args);
    this.lists = ["records", "left", "right"].filter((what) => this.spec[what]);
    this.side = this.spec.side ?? [];
  }

  /**
   * Shows some firings in one call, and gives { rows, side }: the rows of the results, and
   * those of each side output by its name. After a Refusal states are what they were. A
   * firing, or a record, that a host would not show is left out.
   */
  fire(...firings) {
    const given = { rows: [], side: {} };
    for (const { what, body } of this.keep(firings)) {
      if (what >= STATE) continue;
      const side = this.side[what - 1];
      if (side) (given.side[side.name] ??= []).push(rowOf(side.outputs, body));
      else given.rows.push(rowOf(this.spec.outputs, body));
    }
    return given;
  }

  /** The state of a key, undefined for none. */
  keyState(key) {
    return this.states[0].get(keyName({ key }));
  }

  /** The state of a key's window, undefined for none. */
  windowState(key, start, end) {
    return this.states[1].get(windowName({ key, start, end }));
  }

  /** Removes the state of a key. */
  expire(key) {
    this.states[0].delete(keyName({ key }));
  }

  /** Removes the state of a key's window, as a host does at the window's cleanup. */
  clean(key, start, end) {
    this.states[1].delete(windowName({ key, start, end }));
  }

  /** Checks that what is answered follows from the firing and its states. Throws an Error that says what is broken. */
  laws(...firings) {
    this.cut(firings);
  }

  shows(firing) {
    return complete(this.spec.inputs, firing.inputs);
  }

  names(firing) {
    const { key = false, window = false } = this.spec.state ?? {};
    return [key ? keyName(firing) : undefined, window ? windowName(firing) : undefined];
  }

  layout(frame, firings, [keys, windows]) {
    frame.columns(this.spec.inputs, firings.map((f) => f.inputs ?? {}), "firing");
    const at = frame.area(64 * firings.length);
    const lists = this.lists.map((what) => ({ columns: this.spec[what], records: [], what }));
    firings.forEach((f, i) => {
      const to = at + 64 * i, [key, window] = this.names(f);
      [f.start, f.end, f.watermark, f.now].forEach((t, k) => frame.i64(to + 8 * k, t ?? 0));
      [keys.of(key), windows.of(window), f.revision ?? 0].forEach((v, k) => frame.u32(to + 32 + 4 * k, v));
      lists.forEach(({ columns, records, what }, k) => {
        frame.u32(to + 48 + 8 * k, records.length);
        records.push(...(f[what] ?? []).filter((r) => complete(columns, r.values)));
        frame.u32(to + 52 + 8 * k, records.length);
      });
    });
    return { at, lists };
  }
}

function keyName({ key }) {
  return JSON.stringify(key ?? null);
}

function windowName({ key, start, end }) {
  return `${keyName({ key })} ${start ?? 0} ${end ?? 0}`;
}
