// A trigger that does what records say, and keeps the last text and their number.
import { BytesState, Bytes, Domain, Merged, Pane, Reader, StringInput, trigger, UpgradeBytes } from "tidemark";

const say = new StringInput("say");
const state = new BytesState();
const bytes = new Bytes();
const reader = new Reader(0, 0);

function count(at: usize, size: i32): u64 {
  reader.reset(at, size);
  return size == 0 ? 0 : reader.uvarint();
}

function set(p: Pane, n: u64): void {
  bytes.clear();
  bytes.uvarint(n);
  state.set(p, bytes);
}

function element(p: Pane): string | null {
  const what = say.of(p.row);
  set(p, count(state.at(p), state.size(p)) + 1);
  if (what == "fire" || what == "both") p.fire();
  if (what == "purge" || what == "both") p.purge();
  if (what == "timers") {
    p.setTimer(Domain.EVENT_TIME, p.last);
    p.setTimer(Domain.PROCESSING_TIME, p.now + 5);
    p.setTimer(Domain.EVENT_TIME, p.time);
    p.deleteTimer(Domain.EVENT_TIME, p.time);
  }
  if (what == "forget") state.clear(p);
  return what == "refuse" ? "no " + count(state.at(p), state.size(p)).toString() : null;
}

/** Fires where it sees what the test has set: its domain in the count, its time at the window's start. */
function timer(p: Pane): string | null {
  const n = count(state.at(p), state.size(p));
  if (p.time == p.start && <u64>p.domain == n) p.fire();
  if (p.ending && p.watermark == 9) p.purge();
  return null;
}

function merge(p: Pane, old: Merged): string | null {
  const both = count(state.at(p), state.size(p)) + count(state.at(old), state.size(old));
  if (both == 13) state.clear(old); // which nobody may
  set(p, both);
  p.fire(); // says nothing here
  p.setTimer(Domain.EVENT_TIME, p.last);
  return null;
}

trigger({
  name: "panes", version: "1", inputs: [say], state: state, mayPurge: true, schema: 2,
  upgrades: [
    new UpgradeBytes(1, (old, _what, now) => { // which was the number as a byte
      now.uvarint(<u64>old.byte() + 1000);
      return old.left > 0 ? "more than a byte" : null;
    }),
  ],
  element: element, timer: timer, merge: merge,
  clear: (p) => {
    p.deleteTimer(Domain.EVENT_TIME, p.last);
    return null;
  },
});
