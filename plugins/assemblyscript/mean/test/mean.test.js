import assert from "node:assert/strict";
import test from "node:test";
import { load, Refusal, Twin } from "../../../../sdk/assemblyscript/twin.js";

const twin = new Twin(await load(new URL("..", import.meta.url)));
const words = (...values) => new Uint8Array(new BigInt64Array(values.map((v) => typeof v === "bigint" ? v : new BigInt64Array(Float64Array.of(v).buffer)[0])).buffer);

test("older accumulators count on", () => {
  const first = twin.upgrade(1, words(2.5, 4)), second = twin.upgrade(2, words(7, 2n, 3)); // a mean of 2.5 of 4
  assert.deepEqual(twin.result(twin.add(twin.merge(first, second), { value: 4 })), { count: 7n, mean: 3 }); // 10 + 7 + 4 of 7
  assert.deepEqual(twin.result(null), { count: 0n });
  for (const count of [-1, 0.5, NaN, Infinity, 2 ** 53]) {
    assert.throws(() => twin.upgrade(1, words(1, count)), (e) => e instanceof Refusal && e.message === "a count is not a whole number");
  }
});

test("laws", () => twin.laws({ value: 1 }, { value: 2 }, { value: -4.5 }));
