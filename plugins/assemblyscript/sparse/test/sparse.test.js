import assert from "node:assert/strict";
import test from "node:test";
import { load, Refusal, WatermarkTwin } from "../../../../sdk/assemblyscript/twin.js";

const sparse = await load(new URL("..", import.meta.url));
const records = [10, 5, 30, 20, 7].map((time) => ({ time }));

test("older states become those of today", () => {
  const twin = new WatermarkTwin(sparse);
  assert.deepEqual(twin.upgrade(1, Uint8Array.of(5, 1, 0, 0, 0, 0, 0, 0)), Uint8Array.of(5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  assert.throws(() => twin.upgrade(1, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0x80)), (e) => e instanceof Refusal && e.message === "the highest time is below 0");
});

test("every second record speaks", () => {
  assert.deepEqual(new WatermarkTwin(sparse).show(...records), [null, 9n, null, 29n, null]);
  assert.throws(() => new WatermarkTwin(sparse, { n: 0 }), (e) => e instanceof Refusal && e.message === "n must be at least 1");
});

test("laws", () => new WatermarkTwin(sparse).laws(...records));
