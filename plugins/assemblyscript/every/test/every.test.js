import assert from "node:assert/strict";
import test from "node:test";
import { load, Refusal, TriggerTwin } from "../../../../sdk/assemblyscript/twin.js";

const every = await load(new URL("..", import.meta.url));

test("older states become those of today", () => {
  const twin = new TriggerTwin(every), bytes = (text) => new TextEncoder().encode(text);
  assert.deepEqual(twin.upgrade(1, bytes("258")), Uint8Array.of(2, 1, 0, 0, 0, 0, 0, 0));
  for (const old of ["", "1x", "-1", "1234567890"]) {
    assert.throws(() => twin.upgrade(1, bytes(old)), (e) => e instanceof Refusal && e.message === "a count is no number of 1 to 9 digits", old);
  }
});

test("every third record fires", () => {
  const records = Array.from({ length: 7 }, () => ({}));
  const c = "continue", f = "fire";
  assert.deepEqual(new TriggerTwin(every, { n: 3 }).pane(0, 10).elements(...records), [c, c, f, c, c, f, c]);
  assert.throws(() => new TriggerTwin(every, { n: 0 }), (e) => e instanceof Refusal && e.message === "n must be at least 1");
});

test("laws", () => new TriggerTwin(every, { n: 3 }).pane(0, 10).laws({}, {}, {}, {}));
