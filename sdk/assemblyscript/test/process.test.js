import assert from "node:assert/strict";
import test from "node:test";
import { load, ProcessTwin, Refusal, Trap } from "../twin.js";

const firings = await load(new URL("../testdata/firings", import.meta.url));
const sides = await load(new URL("../testdata/sides", import.meta.url));
delete globalThis.WebAssembly; // the compiler needed it; the plug-ins do not

const script = (script, more = {}) => ({ key: "k", start: 0, end: 1000, inputs: { script }, ...more });
const text = (bytes) => new TextDecoder().decode(bytes);

test("rows of the results and of side outputs, and what a firing knows", () => {
  const host = new ProcessTwin(firings);
  const given = host.fire(
    script("row 1;low 2;text é🌊;word x;low 3;bare;row -4;"),
    script("all;", { start: -(2n ** 63n), end: 2n ** 63n - 1n, watermark: 17, now: -3, revision: 5, records: [{ values: { name: "" } }, { values: { name: "b" } }] }),
    script(""),
  );
  assert.deepEqual(given, {
    rows: [
      { number: 1n }, { text: "é🌊" }, {}, { number: -4n },
      { text: "-9223372036854775808 9223372036854775807 17 -3 5", number: 2n, float: -0.5, flag: false, time: -1n },
    ],
    side: { lows: [{ n: 2n }, { n: 3n }], words: [{ word: "x" }] },
  });
});

test("records are those of the firing, in order", () => {
  const record = (name, amount, time) => ({ time, values: { name, amount } });
  const given = new ProcessTwin(firings).fire(
    script("records;", { records: [record("a", 1.5, 9), record("", null, 3), { time: 1, values: { amount: 2 } }, record("ü", NaN)] }),
    script("records;"),
    script("records;", { records: [record("z", 0, 0)] }),
  );
  assert.deepEqual(given.rows, [{ float: 1.5, time: 9n, text: "a" }, { time: 3n, text: "" }, { float: NaN, text: "ü" }, { float: 0, time: 0n, text: "z" }]);
});

test("both sides of a coGroup", () => {
  const list = (...ns) => ns.map((n) => ({ time: 1, values: { n } }));
  const given = new ProcessTwin(sides).fire({ left: list(1, 2), right: list(10) }, { right: list(5, 6, 7) }, {});
  assert.deepEqual(given.rows, [{ left: 3n, right: 10n }, { left: 0n, right: 18n }, { left: 0n, right: 0n }]);
});

test("states are seen by later firings of the same key and window", () => {
  const host = new ProcessTwin(firings), at = (key, start, s) => ({ key, start, end: start + 10, inputs: { script: s } });
  assert.deepEqual(host.fire(
    at("a", 0, "keyhas;window;key one;keyhas;add 3;window;"), // fresh ones, then what it has set itself
    at("b", 0, "keyhas;window;"),
    at("a", 10, "keyhas;window;"),
    at("a", 0, "keyhas;window;key two;key three;add 1;add 1;"),
    at("a", 0, "keyhas;window;nokey;nowindow;keyhas;window;"),
    at("a", 0, "keyhas;"),
  ).rows, [
    { text: "" }, { number: -7n }, { text: "one" }, { number: 10n },
    { text: "" }, { number: -7n },
    { text: "one" }, { number: -7n },
    { text: "one" }, { number: 10n },
    { text: "three" }, { number: 12n }, { text: "" }, { number: -7n },
    { text: "" },
  ]);
  assert.equal(host.keyState("a").length, 0);
  host.fire(at("a", 0, "key x;add 1;"));
  assert.equal(text(host.keyState("a")), "x");
  assert.equal(Buffer.from(host.windowState("a", 0, 10)).toString("hex"), "08000000000000000000000000000000"); // n and odd, padded
  assert.deepEqual(host.fire(at("a", 0, "keyhas;window;")).rows, [{ text: "x" }, { number: 8n }]);
  host.expire("a");
  host.clean("a", 0, 10);
  assert.deepEqual(host.fire(at("a", 0, "keyhas;window;")).rows, [{ text: "" }, { number: -7n }]);
});

test("a state of another size is none", () => {
  const host = new ProcessTwin(firings);
  host.fire(script("add 5;"));
  for (const name of host.states[1].keys()) host.states[1].set(name, new Uint8Array(8).fill(1));
  assert.deepEqual(host.fire(script("window;")).rows, [{ number: -7n }]);
});

test("a state has at most 1 MiB", () => {
  const host = new ProcessTwin(firings);
  host.fire(script("huge 0;"));
  assert.equal(host.keyState("k").length, 1 << 20);
  assert.throws(() => host.fire(script("huge 1;")), (e) => e instanceof Trap && e.message.includes("a state is longer than 1 MiB"));
});

test("a refusal names the firing, and states are what they were", () => {
  const host = new ProcessTwin(firings);
  host.fire(script("key old;"));
  assert.throws(() => host.fire(script("key new;"), { inputs: {} }, script("key newer;row 1;refuse no;")),
    (e) => e instanceof Refusal && e.message === "no" && e.op === 2);
  assert.equal(text(host.keyState("k")), "old");
});

test("a row is complete when the next one begins, and when the function returns", () => {
  const host = new ProcessTwin(firings);
  for (const commands of ["mark 1;row 2;again;", "mark 1;low 1;again;"]) {
    assert.throws(() => host.fire(script(commands)), (e) => e instanceof Trap && e.message.includes("the row is complete"), commands);
  }
  assert.throws(() => host.fire(script("mark 1;"), script("again;")), (e) => e instanceof Trap && e.op === 1);
  assert.throws(() => host.fire(script("mark 1;"), script("row 1;again;")), (e) => e instanceof Trap && e.op === 1);
  assert.deepEqual(host.fire(script("mark 1;key x;again;")).rows, [{ number: 1n, text: "once more" }]);
});

test("what belongs to no function is a mistake", () => {
  for (const [commands, want] of [["unnamed;", 'side output "unnamed" belongs to no function'], ["nothing;", "the state belongs to no function"]]) {
    assert.throws(() => new ProcessTwin(firings).fire(script(commands)), (e) => e instanceof Trap && e.message.includes(want));
  }
});

test("texts of a row have at most 1 MiB together", () => {
  const host = new ProcessTwin(firings);
  assert.equal(host.fire(script("texts 2;")).rows[0].text.length, 1 << 19);
  assert.throws(() => host.fire(script("row 1;"), script("texts 3;row 1;")),
    (e) => e instanceof Refusal && e.op === 1 && e.message === "the texts of a result row are longer than 1 MiB");
});

test("answers that do not fit wait for the next call, whole", () => {
  const host = new ProcessTwin(firings);
  // A row has 16 bytes of head, 8 of bits and 5 cells: 64, and its text padded to 8; a state
  // 16 and its bytes, one of lows 16, 8 and 8.
  const items = [script("text abcdefghi;key abc;"), script("low 1;low 2;"), script(""), script("add 1;text ;row 2;")];
  const sizes = [64 + 16 + 16 + 8, 32 + 32, 0, 64 + 64 + 16 + 16], want = host.run(items).entries;
  assert.deepEqual(want.map((e) => [e.item, e.what]), [[0, 0], [0, 0x80000000], [1, 1], [1, 1], [3, 0], [3, 0], [3, 0x80000001]]);
  for (const room of [0, 103, 104, 167, 168, 327, 328, 400]) {
    const instance = host.start(), frame = host.frame(items, host.states, instance);
    let done = 0, used = 0;
    while (done < 4 && used + sizes[done] <= room) used += sizes[done++];
    const status = frame.serve("tm_process", room);
    assert.deepEqual([status, frame.get("done"), frame.get("out_used")], done === 4 ? [0, 0, used] : [2, done, used], `${room} bytes`);
    assert.deepEqual(frame.entries(done), want.filter((e) => e.item < done), `${room} bytes`);
  }
});

// One instance that is never thrown away, unlike the twin's: what a call leaves must be
// collected. Each firing makes about 2 KB of texts, 20 MB in all.
test("memory does not grow over many calls", () => {
  const host = new ProcessTwin(firings), instance = host.start(), commands = "row 1;key abc;add 1;keyhas;".repeat(8), pages = [];
  for (let i = 0; i < 200; i++) {
    host.run(Array.from({ length: 50 }, (_, k) => script(commands, { key: `${k % 7}` })), { instance });
    pages.push(instance.exports.memory.buffer.byteLength / 65_536);
  }
  assert.equal(pages[199], pages[20], `${pages[20]} pages of 64 KiB behind 20 calls, ${pages[199]} behind 200`);
  assert.ok(pages[199] < 256, `${pages[199]} pages`);
});

test("laws", () => {
  new ProcessTwin(firings).laws(
    script("add 1;key a;row 1;"), script("keyhas;window;"), script("add 2;low 4;", { key: "other" }), script("key ;text é;", { start: 10 }), script("window;nowindow;keyhas;"),
  );
  // A plug-in that keeps something beside its states.
  assert.throws(() => new ProcessTwin(firings).laws(script("row 1;"), script("count;"), script("count;")), /^Error: cut behind item 2 of 3: the answer has item 2, what 0, /);
  assert.throws(() => new ProcessTwin(firings).laws(script("count;")), /^Error: again on the same instance: the answer has item 0, what 0, /);
});

test("declarations of a job", () => {
  assert.throws(() => new ProcessTwin(firings, { most: -1 }), (e) => e instanceof Refusal && e.message === "most is below 0" && e.op === undefined);
  assert.throws(() => new ProcessTwin(firings).fire(script("", { inputs: { script: 5 } })), { message: "firing 0: script is number 5, not string" });
  assert.throws(() => new ProcessTwin(firings).fire(script("", { records: [{ values: { name: "", nme: 1 } }] })), { message: "records 0: nme is not declared" });
});

test("the manifest", () => {
  assert.deepEqual(firings.manifest, {
    name: "firings", version: "1", sdk: "assemblyscript",
    process: {
      inputs: [{ name: "script", type: "string" }],
      records: [{ name: "amount", type: "float64", nullable: true }, { name: "name", type: "string" }],
      outputs: [["text", "string"], ["number", "int64"], ["float", "float64"], ["flag", "bool"], ["time", "timestamp"]].map(([name, type]) => ({ name, type })),
      side: [{ name: "lows", outputs: [{ name: "n", type: "int64" }] }, { name: "words", outputs: [{ name: "word", type: "string" }, { name: "never", type: "bool" }] }],
      params: [{ name: "most", type: "int64", default: 1000 }],
      state: { key: true, window: true, schema: 3 },
    },
  });
  const n = [{ name: "n", type: "int64" }];
  assert.deepEqual(sides.manifest.process, {
    inputs: [], left: n, right: n, outputs: [{ name: "left", type: "int64" }, { name: "right", type: "int64" }], side: [], params: [],
  });
});
