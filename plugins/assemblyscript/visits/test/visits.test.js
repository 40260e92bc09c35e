import assert from "node:assert/strict";
import test from "node:test";
import { load, ProcessTwin, Refusal } from "../../../../sdk/assemblyscript/twin.js";

const visits = await load(new URL("..", import.meta.url));

test("older states become those of today", () => {
  const twin = new ProcessTwin(visits), bytes = (...b) => Uint8Array.from(b), refuses = (text) => (e) => e instanceof Refusal && e.message === text;
  assert.deepEqual(twin.upgrade(1, bytes(1, 2, 0, 0), "key"), bytes(1, 2, 0, 0, 0, 0, 0, 0));
  assert.deepEqual(twin.upgrade(1, bytes(0xff), "window"), bytes(0xff, 0, 0, 0, 0, 0, 0, 0));
  assert.throws(() => twin.upgrade(1, bytes(1), "key"), refuses("the count of a key has 4 bytes"));
  assert.throws(() => twin.upgrade(1, bytes(1, 2, 0, 0), "window"), refuses("the count of a window has 1 byte"));
});

test("firings are counted", () => {
  const fired = (key, start) => ({ key, start, end: start + 10 }), counts = (of_key, of_window) => ({ of_key, of_window });
  const { rows } = new ProcessTwin(visits).fire(fired("a", 0), fired("b", 0), fired("a", 0), fired("a", 10));
  assert.deepEqual(rows, [counts(1n, 1n), counts(1n, 1n), counts(2n, 2n), counts(3n, 1n)]);
});
