import assert from "node:assert/strict";
import test from "node:test";
import { load, Refusal, Twin } from "../../../../sdk/assemblyscript/twin.js";

const distinct = await load(new URL("..", import.meta.url));
const values = (...vs) => vs.map((value) => ({ value }));
const bytes = (text) => Uint8Array.from(text, (c) => c.charCodeAt(0));

/** Texts that differ only behind their first 8 bytes. */
const alike = (n) => Array.from({ length: n }, (_, i) => ({ value: `visitor-${String(i * 7919 % n).padStart(4, "0")}` }));

test("result", () => {
  for (const [name, records, want] of [
    ["no record", [], 0n],
    ["one record", values("a"), 1n],
    ["repetitions count once", values("a", "b", "a", "a", "b"), 2n],
    ["the empty text is a text", values("", "a", ""), 2n],
    ["nulls are left out", values("a", null), 1n],
    ["a text and its beginning differ", values("ab", "abc", "a", "ab\0", "abcdefgh", "abcdefghi"), 6n],
    ["texts that begin alike", alike(1000), 1000n],
    ["long texts", values("x".repeat(300), "x".repeat(301), "x".repeat(300)), 2n],
  ]) {
    const host = new Twin(distinct);
    assert.deepEqual(host.result(host.add(null, ...records)), { distinct: want }, name);
  }
});

test("a set is one sequence of bytes", () => {
  const acc = new Twin(distinct).add(null, ...values("b", "", "ab", "b"));
  assert.deepEqual(acc, bytes("\x03" + "\x00" + "\x02ab" + "\x01b"));
});

test("texts are ordered by their bytes, not by halves of surrogate pairs", () => {
  const acc = new Twin(distinct).add(null, ...values("\u{1F30A}", "\uFF5E"));
  assert.equal(new TextDecoder().decode(acc), "\x02" + "\x03\uFF5E" + "\x04\u{1F30A}");
});

test("laws", () => {
  for (const records of [[], values("a"), values("", "", "b"), values("c", "a", "b", "a", "", "cc"), alike(12)]) {
    new Twin(distinct).laws(...records);
  }
});

test("more than an accumulator holds is refused", () => {
  const records = values(...Array.from("abcdefghijk", (c) => c.repeat(100_000)));
  assert.throws(() => new Twin(distinct).add(null, ...records), { message: "accumulator is longer than 1 MiB" });
});

test("damaged bytes are refused", () => {
  for (const acc of ["\x80", "\x01\x05ab", "\x01\xff", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"]) {
    assert.throws(() => new Twin(distinct).merge(bytes(acc), bytes("\x01\x01a")), Refusal, JSON.stringify(acc));
  }
});
