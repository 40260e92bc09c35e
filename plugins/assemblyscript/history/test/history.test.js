import assert from "node:assert/strict";
import test from "node:test";
import { load, Refusal, Twin } from "../../../../sdk/assemblyscript/twin.js";

const twin = new Twin(await load(new URL("..", import.meta.url)));
const bytes = (text) => new TextEncoder().encode(text);

test("older accumulators go on", () => {
  assert.deepEqual(twin.upgrade(1, bytes("a\n\nbc\n")), bytes("\x01a\x00\x02bc"));
  assert.deepEqual(twin.upgrade(1, bytes("")), bytes(""));
  assert.throws(() => twin.upgrade(1, bytes("a\nb")), (e) => e instanceof Refusal && e.message === "a text does not end");
  assert.deepEqual(twin.result(twin.add(twin.upgrade(1, bytes("a\nb\n")), { value: "c" })), { count: 3n, last: "c" });
  assert.deepEqual(twin.result(null), { count: 0n });
  assert.throws(() => twin.result(bytes("\x05a")), (e) => e instanceof Refusal && e.message === "accumulator is not a list: its bytes are damaged");
});

test("laws", () => twin.laws({ value: "x" }, { value: "" }, { value: "ä" }));
