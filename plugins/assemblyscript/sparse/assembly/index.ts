// A plug-in, a watermark generator that speaks at every n-th record of a split: no record
// below the highest time so far is to come. It shows how the state of a generator is
// upgraded.
import { FixedState, Int64Param, UpgradeFrom, watermarkGenerator } from "tidemark";

const n = new Int64Param("n").defaultsTo(2);

/** What the generator knows of a split, schema 2. */
class Split {
  high: i64 = 0;
  records: i64 = 0; // since it spoke last
}

/** Schema 1 spoke at every record. */
class Highest {
  high: i64 = 0;
}

const state = new FixedState<Split>();
const s = new Split(); // the state is copied into it

watermarkGenerator({
  name: "sparse",
  version: "2.0.0",
  params: [n],
  state: state,
  schema: 2,
  upgrades: [
    new UpgradeFrom<Highest, Split>(1, (old, now) => {
      now.high = old.high;
      return old.high < 0 ? "the highest time is below 0" : null;
    }),
  ],
  configure: () => n.value < 1 ? "n must be at least 1" : null,
}, (t) => {
  if (!state.get(t, s) || t.time > s.high) s.high = t.time;
  if (++s.records >= n.value) {
    t.watermark(s.high - 1);
    s.records = 0;
  }
  state.set(t, s);
  return null;
});
