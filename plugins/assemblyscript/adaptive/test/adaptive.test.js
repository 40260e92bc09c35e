import assert from "node:assert/strict";
import test from "node:test";
import { load, Refusal, WatermarkTwin } from "../../../../sdk/assemblyscript/twin.js";

const adaptive = await load(new URL("..", import.meta.url));
const at = (time, kind) => ({ time, values: { kind } });

test("it lags by slack until a record is further behind than half of that, and then by twice as much", () => {
  const host = new WatermarkTwin(adaptive, { slack: 40 });
  assert.deepEqual(host.show(at(500), at(600), at(590), at(575), at(700, "other")), [459n, 559n, 559n, 549n, 649n]);
  // A flush moves time to itself; the state goes from call to call.
  assert.deepEqual(host.show(at(600), at(650, "flush"), at(900)), [499n, 650n, 699n]);
  assert.equal(Buffer.from(host.state).toString("hex"), "8403000000000000" + "6400000000000000"); // 900, and 100 behind
});

test("the first record may have any time, also one below 0", () => {
  assert.deepEqual(new WatermarkTwin(adaptive, { slack: 0 }).show(at(-50), at(-60)), [-51n, -71n]);
});

test("what a flush is called, in bytes", () => {
  const host = new WatermarkTwin(adaptive, { slack: 10, flush: "é" });
  assert.deepEqual(host.show(at(100, "é"), at(100, "é "), at(100, "flush"), at(100, "")), [100n, 89n, 89n, 89n]);
  assert.deepEqual(new WatermarkTwin(adaptive, { slack: 10, flush: "" }).show(at(100, ""), at(100)), [100n, 89n]); // null is no text
});

test("it says nothing by the clock", () => assert.equal(new WatermarkTwin(adaptive).tick(1e12), null));

test("laws", () => new WatermarkTwin(adaptive).laws(at(5000), at(9000), at(100), at(9500, "flush"), at(8000)));

test("slack is not negative", () => {
  assert.throws(() => new WatermarkTwin(adaptive, { slack: -1 }), (e) => e instanceof Refusal && e.message === "slack must not be negative");
});
