// A watermark generator that says what records say, or by the clock how many there were.
import { FixedState, Int64Input, TimeInput, Timed, UpgradeFrom, watermarkGenerator } from "tidemark";

const say = new TimeInput("say").nullable();
const lag = new Int64Input("lag").nullable();

class Seen {
  n: i64 = 0;
}

class Once {
  n: i32 = 0;
}

const state = new FixedState<Seen>();
const seen = new Seen();

function see(t: Timed): string | null {
  state.get(t, seen);
  seen.n++;
  state.set(t, seen);
  if (!say.isNull(t.row)) t.watermark(say.of(t.row));
  if (!lag.isNull(t.row)) t.watermark(t.time - lag.of(t.row));
  return lag.of(t.row) < 0 ? "lag is below 0" : null;
}

watermarkGenerator({
  name: "splits", version: "1", inputs: [say, lag], state: state, schema: 2,
  upgrades: [new UpgradeFrom<Once, Seen>(1, (old, now) => { now.n = old.n; return null; })],
  tick: (t) => {
    if (state.get(t, seen)) t.watermark(t.time - seen.n);
    return null;
  },
}, see);
