import assert from "node:assert/strict";
import test from "node:test";
import { load, Refusal, TriggerTwin } from "../../../../sdk/assemblyscript/twin.js";

const plugin = await load(new URL("..", import.meta.url));
const at = (...times) => times.map((time) => ({ time, values: {} }));

test("the first record, and the first behind each firing, arm the timeout", () => {
  const pane = new TriggerTwin(plugin, { n: 3, after_ms: 50 }).pane(0, 1000);
  assert.deepEqual(pane.elements(...at(200, 210, 220, 230)), ["continue", "continue", "fire", "continue"]);
  assert.deepEqual(pane.timers("event"), [280n, 999n]); // that of 200 is taken back
  assert.equal(Buffer.from(pane.state).toString("hex"), "0100000000000000" + "0100000000000000" + "1801000000000000"); // 1, armed, 280
  assert.equal(pane.timer("event", 250), "continue");
  assert.equal(pane.timer("event", 280), "fire");
  assert.equal(pane.state.length, 0);
  pane.elements(...at(949)); // would time out at the window's end
  assert.deepEqual(pane.timers("event"), [999n]);
  assert.equal(pane.timer("event", 999), "fire");
  assert.deepEqual(pane.timers("event"), []);
});

test("every record fires with n 1, and leaves the window's end alone", () => {
  const pane = new TriggerTwin(plugin, { n: 1, after_ms: 50 }).pane(0, 1000);
  assert.deepEqual(pane.elements(...at(1, 2)), ["fire", "fire"]);
  assert.deepEqual(pane.timers("event"), [999n]);
});

test("a late record fires at once", () => {
  const host = new TriggerTwin(plugin, { n: 3, after_ms: 50 });
  host.watermark = 999;
  const pane = host.pane(0, 1000);
  assert.deepEqual(pane.elements(...at(1, 2)), ["fire", "fire"]);
  assert.deepEqual(pane.timers("event"), []);
});

test("by the clock", () => {
  const host = new TriggerTwin(plugin, { n: 2, after_ms: 50, by_the_clock: true }), pane = host.pane(0, 1000);
  host.now = 8000;
  assert.deepEqual(pane.elements(...at(100)), ["continue"]);
  assert.deepEqual([pane.timers("processing"), pane.timers("event")], [[8050n], [999n]]);
  assert.equal(pane.timer("processing", 8050), "fire");
  assert.deepEqual(pane.elements(...at(101, 102)), ["continue", "fire"]);
  assert.deepEqual(pane.timers("processing"), []);
  pane.elements(...at(103));
  pane.clear();
  assert.deepEqual([pane.timers("processing"), pane.timers("event")], [[], []]);
});

test("at the end of time a timeout does not come around", () => {
  const pane = new TriggerTwin(plugin, { n: 2, after_ms: 2n ** 63n - 1n }).pane(-(2n ** 63n), 2n ** 63n - 1n);
  pane.elements(...at(5));
  assert.deepEqual(pane.timers("event"), [2n ** 63n - 1n]);
});

test("a session has the records of both, and the earlier timeout", () => {
  const host = new TriggerTwin(plugin, { n: 4, after_ms: 50 });
  const first = host.pane(100, 200), second = host.pane(210, 310), both = host.pane(100, 310);
  first.elements(...at(100));
  second.elements(...at(210, 211));
  both.merge(second);
  both.merge(first);
  assert.deepEqual(both.timers("event"), [150n, 309n]);
  assert.equal(both.timer("event", 260), "continue"); // the later one was taken back
  assert.deepEqual(both.elements(...at(205)), ["fire"]);
  assert.deepEqual(both.timers("event"), [309n]);
});

test("laws", () => new TriggerTwin(plugin, { n: 3, after_ms: 50 }).pane(0, 1000).laws(...at(10, 20, 30, 40, 990)));

test("arguments", () => {
  for (const [args, want] of [[{ n: 0, after_ms: 1 }, "n must be at least 1"], [{ n: 1, after_ms: 0 }, "after_ms must be at least 1"]]) {
    assert.throws(() => new TriggerTwin(plugin, args), (e) => e instanceof Refusal && e.message === want);
  }
  assert.throws(() => new TriggerTwin(plugin, { n: 1 }), { message: "argument after_ms is required" });
});
