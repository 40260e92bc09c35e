// A plug-in: a watermark generator that finds out by itself how far records are out of
// order. It lags behind the highest time by twice the most that any record so far has been
// behind, and at least by slack. A record that says that it ends a stretch, such as a flush
// at the end of a file, moves time up to itself at once.
//
// A job that knows its bound should say so: this one pays for each new extreme with late
// records.
import { compareBytes, FixedState, Int64Param, StringInput, StringParam, Timed, watermarkGenerator } from "tidemark";

const kind = new StringInput("kind").nullable();
const slack = new Int64Param("slack").defaultsTo(1000);
const flush = new StringParam("flush").defaultsTo("flush");

/** What the generator knows of a split. */
class Seen {
  high: i64 = 0;
  worst: i64 = 0; // the most that a record was behind, in ms
}

const state = new FixedState<Seen>();
const seen = new Seen();

/** The flush parameter as UTF-8. */
let mark = new ArrayBuffer(0);

function follow(t: Timed): string | null {
  const there = state.get(t, seen), at = t.time;
  if (!there || at > seen.high) seen.high = at;
  else seen.worst = max(seen.worst, seen.high - at);
  state.set(t, seen);
  const r = t.row, ends = !kind.isNull(r) && compareBytes(kind.at(r), kind.size(r), changetype<usize>(mark), mark.byteLength) == 0;
  t.watermark(ends ? at : seen.high - max(slack.value, 2 * seen.worst) - 1);
  return null;
}

watermarkGenerator({
  name: "adaptive",
  version: "1.0.0",
  inputs: [kind],
  params: [slack, flush],
  state: state,
  configure: () => {
    mark = String.UTF8.encode(flush.value);
    return slack.value < 0 ? "slack must not be negative" : null;
  },
}, follow);
