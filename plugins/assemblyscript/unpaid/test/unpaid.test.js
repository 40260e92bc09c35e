import assert from "node:assert/strict";
import test from "node:test";
import { load, PairTwin, Refusal } from "../../../../sdk/assemblyscript/twin.js";

const unpaid = await load(new URL("..", import.meta.url));
const records = (column, ...pairs) => pairs.map(([time, v]) => ({ time, values: { [column]: v } }));

test("what a payment leaves open", () => {
  const orders = records("due", [100, 10], [null, 2]), payments = records("paid", [350, 4], [90, 9.75], [null, 12]);
  assert.deepEqual(new PairTwin(unpaid, { tolerance: 0.25 }).show(orders, payments), [
    { open: 6, waited_ms: 250n }, { open: -2 }, // 10 with 9.75 is near enough
    { open: -2 }, { open: -7.75 }, { open: -10 },
  ]);
  assert.deepEqual(new PairTwin(unpaid).show(records("due", [1, 10]), payments), [{ open: 6, waited_ms: 349n }, { open: 0.25, waited_ms: 89n }, { open: -2 }]);
});

test("a payment below 0 is refused", () => {
  assert.throws(() => new PairTwin(unpaid).show(records("due", [1, 1], [1, 2]), records("paid", [1, 1], [1, -1])),
    (e) => e instanceof Refusal && e.op === 1 && e.message === "paid is below 0");
});

test("laws", () => new PairTwin(unpaid, { tolerance: 1 }).laws(records("due", [1, 5], [2, 6], [null, 7]), records("paid", [3, 5], [null, 1])));
