import assert from "node:assert/strict";
import test from "node:test";
import { AssignerTwin, load, Refusal } from "../../../../sdk/assemblyscript/twin.js";

const ownGap = await load(new URL("..", import.meta.url));
const END = 2n ** 63n - 1n, record = (time, gap_ms) => ({ time, values: { gap_ms } });
const refusal = (e) => e instanceof Refusal && e.message === "gap_ms must be at least 1";

test("the window of a record", () => {
  assert.deepEqual(new AssignerTwin(ownGap, { gap_ms: 7 }).show(record(100, 30), record(-5), record(-5, 1), record(0, END), record(1, END), record(END - 1n, 5), { values: {} }), [
    [[100n, 130n]], [[-5n, 2n]], [[-5n, -4n]], [[0n, END]], [[1n, END]], [[END - 1n, END]], [],
  ]);
  assert.deepEqual(new AssignerTwin(ownGap).show(record(0)), [[[0n, 60_000n]]]);
});

test("a gap below 1 is refused", () => {
  assert.throws(() => new AssignerTwin(ownGap).show(record(1, 1), record(1, 0)), (e) => refusal(e) && e.op === 1);
  assert.throws(() => new AssignerTwin(ownGap, { gap_ms: 0 }), refusal);
  assert.throws(() => new AssignerTwin(ownGap).show(record(1, -(2n ** 63n))), refusal);
});

test("laws", () => new AssignerTwin(ownGap).laws(record(1, 5), record(2), record(3, 1)));
