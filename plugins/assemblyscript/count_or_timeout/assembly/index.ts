// A plug-in: a trigger that fires a window at its end, at every n-th record, and some time
// after the first record that has not been fired yet, whichever comes first. It does what
// the built-in trigger of the same name does, and shows how: with a state, timers of both
// domains, and a merge.
import { BoolParam, Domain, FixedState, Int64Param, Merged, Pane, trigger } from "tidemark";

const n = new Int64Param("n").required();
const after = new Int64Param("after_ms").required();
const clock = new BoolParam("by_the_clock");

/**
 * What the trigger knows of a window: the records since the last firing, and when the
 * timeout is that the first of them has armed.
 */
class Waiting {
  records: i64 = 0;
  armed: bool = false;
  at: i64 = 0;
}

const state = new FixedState<Waiting>();

// States are copied into these.
const w = new Waiting();
const o = new Waiting();

function domain(): Domain { return clock.value ? Domain.PROCESSING_TIME : Domain.EVENT_TIME; }

/** Takes back the timeout. One that coincides with the window's end leaves that one's timer alone. */
function disarm(p: Pane): void {
  if (w.armed && (domain() != Domain.EVENT_TIME || w.at != p.last)) p.deleteTimer(domain(), w.at);
}

/** Begins anew after a firing. */
function begin(p: Pane): void {
  disarm(p);
  state.clear(p);
}

function element(p: Pane): string | null {
  state.get(p, w);
  if (p.last <= p.watermark) { // late, but allowed: an update at once
    begin(p);
    p.fire();
    return null;
  }
  p.setTimer(Domain.EVENT_TIME, p.last);
  if (++w.records >= n.value) {
    begin(p);
    p.fire();
    return null;
  }
  if (!w.armed) arm(p, later(clock.value ? p.now : p.time, after.value));
  state.set(p, w);
  return null;
}

function arm(p: Pane, at: i64): void {
  w.armed = true;
  w.at = at;
  p.setTimer(domain(), at);
}

/** A time that does not go beyond the end of time. */
function later(t: i64, ms: i64): i64 {
  const sum = t + ms;
  return sum > t ? sum : i64.MAX_VALUE;
}

function timer(p: Pane): string | null {
  state.get(p, w);
  if (p.domain == Domain.EVENT_TIME && p.time == p.last) {
    begin(p);
    p.fire();
  } else if (p.domain == domain() && w.armed && p.time == w.at) {
    state.clear(p);
    p.fire();
  }
  return null;
}

function gone(p: Pane): string | null {
  state.get(p, w);
  begin(p);
  p.deleteTimer(Domain.EVENT_TIME, p.last);
  return null;
}

/** Takes over the records of another session, and the earlier one of two timeouts. */
function join(p: Pane, old: Merged): string | null {
  state.get(p, w);
  state.get(old, o);
  w.records += o.records;
  if (o.armed && (!w.armed || o.at < w.at)) {
    disarm(p);
    arm(p, o.at);
  }
  state.set(p, w);
  if (p.last > p.watermark) p.setTimer(Domain.EVENT_TIME, p.last);
  return null;
}

trigger({
  name: "count_or_timeout",
  version: "1.0.0",
  params: [n, after, clock],
  state: state,
  configure: () => n.value < 1 ? "n must be at least 1" : after.value < 1 ? "after_ms must be at least 1" : null,
  element: element,
  timer: timer,
  clear: gone,
  merge: join,
});
