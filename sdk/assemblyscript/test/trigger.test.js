import assert from "node:assert/strict";
import test from "node:test";
import { load, Refusal, Trap, TriggerTwin } from "../twin.js";

const panes = await load(new URL("../testdata/panes", import.meta.url));
delete globalThis.WebAssembly; // the compiler needed it; the plug-in does not

const says = (...words) => words.map((say, i) => ({ time: i, values: { say } }));

test("verdicts of records", () => {
  const pane = new TriggerTwin(panes).pane(0, 10);
  assert.deepEqual(pane.elements(...says("", "fire", "purge", "both", "fire")), ["continue", "fire", "purge", "fire and purge", "fire"]);
  assert.deepEqual([...pane.state], [5]);
  assert.deepEqual(pane.elements(...says("forget")), ["continue"]);
  assert.equal(pane.state.length, 0);
});

test("timers are a set for each domain", () => {
  const host = new TriggerTwin(panes), pane = host.pane(3, 10);
  host.now = 100n;
  assert.deepEqual(pane.elements({ time: 5, values: { say: "timers" } }, { values: { say: "timers" } }), ["continue", "continue"]);
  assert.deepEqual(pane.timers("event"), [9n]); // those at the records' times are taken back
  assert.deepEqual(pane.timers("processing"), [105n]);
  assert.equal(pane.timer("event", 9), "continue");
  assert.deepEqual(pane.timers("event"), []);
  assert.deepEqual(host.pane(-(2n ** 63n), 2n ** 63n - 1n).timers("event"), []);
});

test("the last time of a window", () => {
  for (const [start, end, last] of [[0, 10, 9n], [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 63n - 1n], [0, 2n ** 63n - 1n, 2n ** 63n - 2n], [-(2n ** 63n), 0, -1n]]) {
    const pane = new TriggerTwin(panes).pane(start, end);
    pane.elements({ time: 0, values: { say: "timers" } });
    assert.deepEqual(pane.timers("event"), [last].filter((t) => t !== 0n));
  }
});

test("a timer's domain and time, and what a pane knows", () => {
  const host = new TriggerTwin(panes), pane = host.pane(3, 10);
  assert.equal(pane.timer("event", 3), "fire"); // its domain is the number of records
  assert.equal(pane.timer("processing", 3), "continue");
  assert.equal(pane.timer("event", 4), "continue");
  pane.elements(...says(""));
  assert.equal(pane.timer("event", 3), "continue");
  assert.equal(pane.timer("processing", 3), "fire");
  host.watermark = 9;
  assert.equal(pane.timer("event", 4), "continue");
  host.ending = true;
  assert.equal(pane.timer("event", 4), "purge");
});

test("a merge takes over the other's state, and fires nothing", () => {
  const host = new TriggerTwin(panes), a = host.pane(0, 10), b = host.pane(5, 20);
  a.elements(...says("", ""));
  b.elements(...says("", "", ""));
  b.merge(a);
  assert.deepEqual([...b.state], [5]);
  assert.equal(a.state, undefined);
  assert.deepEqual(b.timers("event"), [19n]);
  b.clear();
  assert.equal(b.state, undefined);
  assert.deepEqual(b.timers("event"), []);
});

test("the state of a window that was merged is read only", () => {
  const host = new TriggerTwin(panes), a = host.pane(0, 10), b = host.pane(5, 20);
  a.elements(...says(..."abcdef"));
  b.elements(...says(..."abcdefg"));
  assert.throws(() => b.merge(a), (e) => e instanceof Trap && e.message.includes("read only"));
});

test("a refusal names the record, and state and timers are what they were", () => {
  const pane = new TriggerTwin(panes).pane(0, 10);
  pane.elements(...says("a"));
  assert.throws(() => pane.elements(...says("timers"), { time: 1 }, ...says("refuse")), (e) => e instanceof Refusal && e.op === 2 && e.message === "no 3");
  assert.deepEqual([...pane.state], [1]);
  assert.deepEqual(pane.timers("event"), []);
});

test("an undeclared purge is a mistake", () => {
  const host = new TriggerTwin(panes);
  host.spec = { ...host.spec, may_purge: false };
  assert.throws(() => host.pane(0, 1).elements(...says("both")), { message: "the trigger purges, and its manifest does not say that it may" });
});

test("operations that do not fit wait for the next call, whole", () => {
  const host = new TriggerTwin(panes), pane = host.pane(0, 10);
  // A timer, a verdict and a short state have 24 bytes each.
  const items = says("fire", "timers", "").map((record) => ({ what: 0, record, pane })), sizes = [48, 120, 24];
  for (const room of [0, 47, 48, 167, 168, 191, 192, 300]) {
    const frame = host.frame(items, host.states, host.start());
    let done = 0, used = 0;
    while (done < 3 && used + sizes[done] <= room) used += sizes[done++];
    const status = frame.serve("tm_trigger", room);
    assert.deepEqual([status, frame.get("done"), frame.get("out_used")], done === 3 ? [0, 0, used] : [2, done, used], `${room} bytes`);
  }
});

test("laws", () => new TriggerTwin(panes).pane(0, 10).laws(...says("", "fire", "timers", "forget", "both")));

test("the manifest", () => {
  assert.deepEqual(panes.manifest.trigger, { inputs: [{ name: "say", type: "string" }], params: [], state: { schema: 2, upgrades: [{ schema: 1 }] }, may_purge: true, merges: true });
});
