import assert from "node:assert/strict";
import test from "node:test";
import { load, Refusal, Twin } from "../../../../sdk/assemblyscript/twin.js";

const topK = await load(new URL("..", import.meta.url));
const values = (...vs) => vs.map((value) => ({ value }));
const bytes = (text) => Uint8Array.from(text, (c) => c.charCodeAt(0));

test("result", () => {
  for (const [name, args, records, want] of [
    ["no record", {}, [], "[]"],
    ["nulls are left out", {}, values(null), "[]"],
    ["the most frequent first", {}, values("b", "a", "b"), '[{"value":"b","count":2},{"value":"a","count":1}]'],
    ["the lower text first among equals", {}, values("c", "a", "b", ""), '[{"value":"","count":1},{"value":"a","count":1},{"value":"b","count":1},{"value":"c","count":1}]'],
    ["no more than k", { k: 2 }, values("a", "b", "c", "b", "c", "c", "d"), '[{"value":"c","count":3},{"value":"b","count":2}]'],
    ["a later one among the best", { k: 1 }, values("a", "b", "b"), '[{"value":"b","count":2}]'],
    ["text is quoted", {}, values('"\\\n\x1f\u00e9\u{1F30A}'), '[{"value":"\\"\\\\\\u000a\\u001f\u00e9\u{1F30A}","count":1}]'],
    ["order is that of bytes", {}, values("\u{1F30A}", "\uFF5E"), '[{"value":"\uFF5E","count":1},{"value":"\u{1F30A}","count":1}]'],
    ["ten by default", {}, values(...Array.from("abcdefghijkl")), `[${Array.from("abcdefghij", (c) => `{"value":"${c}","count":1}`)}]`],
  ]) {
    const host = new Twin(topK, args);
    assert.equal(host.result(host.add(null, ...records)).top, want, name);
  }
});

test("a table is one sequence of bytes", () => {
  const acc = new Twin(topK).add(null, ...values("b", "", "ab", "b"));
  assert.deepEqual(acc, bytes("\x00\x01" + "\x02ab\x01" + "\x01b\x02"));
});

test("laws", () => {
  for (const records of [[], values("a"), values("", "", "b"), values("c", "a", "b", "a", "", "cc", null)]) {
    new Twin(topK, { k: 2 }).laws(...records);
  }
});

test("arguments", () => {
  for (const k of [0, 1001, -1]) assert.throws(() => new Twin(topK, { k }), { message: "k is not from 1 to 1000" });
  new Twin(topK, { k: 1000 });
});

test("damaged bytes are refused", () => {
  for (const acc of ["\x80", "\x05ab", "\x01a", "\x01a\x80"]) {
    assert.throws(() => new Twin(topK).merge(bytes(acc), bytes("\x01a\x01")), Refusal, JSON.stringify(acc));
    assert.throws(() => new Twin(topK).result(bytes(acc)), Refusal, JSON.stringify(acc));
  }
});
