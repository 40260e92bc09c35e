// A plug-in: of a record with the path of a URL it makes one for each section that the path
// lies in, so that counts of sections include what is below them. "/blog/2015/cats.html"
// lies in "/", "/blog" and "/blog/2015". Paths that do not begin with a slash are not of
// this server, and give none.
import { Int64Output, Int64Param, mapFunction, Mapped, StringInput, StringOutput } from "tidemark";

const path = new StringInput("path");
const depth = new Int64Param("depth").defaultsTo(3);
const section = new StringOutput("section");
const level = new Int64Output("level");

const SLASH: u8 = 0x2F, QUERY: u8 = 0x3F, FRAGMENT: u8 = 0x23;

function split(m: Mapped): string | null {
  const from = path.at(m.row), size = path.size(m.row);
  if (size == 0 || load<u8>(from) != SLASH) return null;
  let end = from + size;
  for (let at = from; at < end; at++) {
    const c = load<u8>(at);
    if (c == QUERY || c == FRAGMENT) end = at;
  }
  emit(m, from, 1, 0);
  let n: i64 = 1;
  for (let begin = from + 1, at = begin; at < end && n < depth.value; at++) {
    if (load<u8>(at) != SLASH) continue;
    if (at > begin) emit(m, from, <i32>(at - from), n++); // two slashes are one
    begin = at + 1;
  }
  return null;
}

function emit(m: Mapped, at: usize, size: i32, n: i64): void {
  const w = m.emit();
  section.setBytes(w, at, size);
  level.set(w, n);
}

mapFunction({
  name: "sections",
  version: "1.0.0",
  inputs: [path],
  outputs: [section, level],
  params: [depth],
  configure: () => depth.value < 1 || depth.value > 100 ? "depth must be from 1 to 100" : null,
}, split);
