import assert from "node:assert/strict";
import test from "node:test";
import { load, Twin } from "../twin.js";

const numbers = await load(new URL("../testdata/numbers", import.meta.url));
const i64 = (v) => BigInt.asIntN(64, v), u64 = (v) => BigInt.asUintN(64, v), i32 = (v) => BigInt.asIntN(32, v);
const MIN = -(2n ** 63n), MAX = 2n ** 63n - 1n;

test("whole numbers are those of a host to the bit", () => {
  for (const a of [0n, 1n, -1n, 7n, -7n, 101n, 2n ** 31n, -(2n ** 31n) - 1n, 2n ** 53n + 1n, 0x0123456789abcdefn, MAX, MIN + 1n, MIN]) {
    for (const b of [1n, 3n, -3n, 2n ** 32n + 1n, MAX]) {
      const got = new Twin(numbers, { a, b }).result();
      delete got.whole;
      delete got.bits;
      assert.deepEqual(got, {
        sum: i64(a + b), product: i64(a * b), quotient: i64(a / b), rest: a % b,
        shifted: a >> 3n, logical: i64(u64(a) >> 3n), turned: i64(u64(a) << 5n | u64(a) >> 59n),
        mixed: i64(a ^ b | a & 0xFF00FF00FFn), narrow: i32(i32(a) * i32(b)),
        text: `${a} ${u64(a)} 0.0`, across: '"same ,12345678,12345678a,12345678b,b,"',
      }, `${a} and ${b}`);
    }
  }
});

test("floats are, too", () => {
  const of = (f) => new BigInt64Array(Float64Array.of(f).buffer)[0];
  for (const [f, whole] of [[0, 0n], [-0, 0n], [2.9, 2n], [-2.9, -2n], [2251799813685249.5, 2251799813685249n], [-9007199254740993, -9007199254740992n], [5e-324, 0n]]) {
    const got = new Twin(numbers, { f, b: 1 }).result();
    assert.deepEqual([got.whole, got.bits], [whole, of(f)], `${f}`);
  }
});

// What docs/plugins.md says of the twin, since wasm2js knows no traps.
test("what a host does otherwise", () => {
  assert.equal(new Twin(numbers, { a: 5, b: 0 }).result().quotient, 0n);
  for (const f of [NaN, 1e30, -1e30, Infinity]) assert.equal(new Twin(numbers, { f, b: 1 }).result().whole, MIN);
});
