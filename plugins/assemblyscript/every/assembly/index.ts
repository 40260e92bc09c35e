// A plug-in, a trigger that fires a window at every n-th record, and at nothing else. It
// shows how the state of a trigger is upgraded.
import { FixedState, Int64Param, trigger, UpgradeBytes } from "tidemark";

const n = new Int64Param("n").defaultsTo(2);

/** Records since the last firing. */
class Count {
  n: i64 = 0;
}

const state = new FixedState<Count>();
const count = new Count(); // the state is copied into it

trigger({
  name: "every",
  version: "2.0.0",
  params: [n],
  state: state,
  schema: 2,
  upgrades: [
    new UpgradeBytes(1, (old, _what, now) => { // schema 1 wrote the count as a decimal number
      let c: i64 = 0, good = old.left >= 1 && old.left <= 9;
      while (good && old.left > 0) {
        const digit = old.byte();
        good = digit >= 0x30 && digit <= 0x39;
        c = 10 * c + digit - 0x30;
      }
      now.int64(c);
      return good ? null : "a count is no number of 1 to 9 digits";
    }),
  ],
  configure: () => n.value < 1 ? "n must be at least 1" : null,
  element: (p) => {
    state.get(p, count);
    if (++count.n >= n.value) {
      state.clear(p);
      p.fire();
      return null;
    }
    state.set(p, count);
    return null;
  },
});
