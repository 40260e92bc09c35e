import assert from "node:assert/strict";
import test from "node:test";
import { load, Refusal, Twin } from "../../../../sdk/assemblyscript/twin.js";

const stats = await load(new URL("..", import.meta.url));
const values = (...vs) => vs.map((value) => ({ value }));

test("result", () => {
  for (const [name, records, want] of [
    ["no record has no minimum, maximum and mean", [], { count: 0n, sum: 0 }],
    ["one record", values(2.5), { count: 1n, sum: 2.5, min: 2.5, max: 2.5, mean: 2.5 }],
    ["the extremes stand in the middle", values(3, -1, 8, 2), { count: 4n, sum: 12, min: -1, max: 8, mean: 3 }],
    ["nulls are left out", values(1, null, 2), { count: 2n, sum: 3, min: 1, max: 2, mean: 1.5 }],
    ["a negative zero counts as zero", values(-0), { count: 1n, sum: 0, min: 0, max: 0, mean: 0 }], // deepEqual tells -0 from 0
    ["infinite values", values(Infinity, 1), { count: 2n, sum: Infinity, min: 1, max: Infinity, mean: Infinity }],
  ]) {
    const host = new Twin(stats);
    assert.deepEqual(host.result(host.add(null, ...records)), want, name);
  }
});

test("NaN is refused by its record", () => {
  assert.throws(() => new Twin(stats).add(null, ...values(1, NaN, 2)),
    (e) => e instanceof Refusal && e.op === 1 && e.message === "value is NaN");
});

test("laws", () => {
  for (const records of [[], values(7), values(0, -0), values(0.1, 0.2, 0.3, 1e6, -4), values(5, 5, null, -5)]) {
    new Twin(stats).laws(...records);
  }
});
