import assert from "node:assert/strict";
import test from "node:test";
import { load, MapTwin, Refusal } from "../../../../sdk/assemblyscript/twin.js";

const sections = await load(new URL("..", import.meta.url));
const paths = (...ps) => ps.map((path) => ({ values: { path } }));

test("the sections of a path", () => {
  for (const [path, depth, want] of [
    ["/", 3, ["/"]],
    ["/index.html", 3, ["/"]],
    ["/blog/2015/cats.html", 3, ["/", "/blog", "/blog/2015"]],
    ["/blog/2015/05/cats.html", 3, ["/", "/blog", "/blog/2015"]],
    ["/blog/2015/05/cats.html", 1, ["/"]],
    ["/a/", 3, ["/", "/a"]],
    ["//a//b/c", 4, ["/", "//a", "//a//b"]], // two slashes are one
    ["/a/b?c/d/e/", 9, ["/", "/a"]],
    ["/ü/#/x/", 9, ["/", "/ü"]],
    ["a/b", 3, []],
    ["", 3, []],
    ["?/", 3, []],
  ]) {
    const rows = new MapTwin(sections, { depth }).show(...paths(path))[0];
    assert.deepEqual(rows, want.map((section, i) => ({ section, level: BigInt(i) })), `${path} at depth ${depth}`);
  }
});

test("records without a path are not shown", () => {
  assert.deepEqual(new MapTwin(sections).show({ values: {} }, ...paths("/")), [[], [{ section: "/", level: 0n }]]);
});

test("laws", () => new MapTwin(sections).laws(...paths("/a/b/c/d", "", "/x", "no", "/a/b/")));

test("depth", () => {
  for (const depth of [0, 101, -1]) {
    assert.throws(() => new MapTwin(sections, { depth }), (e) => e instanceof Refusal && e.message === "depth must be from 1 to 100");
  }
  new MapTwin(sections, { depth: 100 });
});
