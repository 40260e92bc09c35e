// A plug-in that shows what an SDK can do: it reads and writes every type, refuses, traps,
// runs on and on, and logs, as the record asks for. It is for tests of hosts and SDKs.
import {
  BoolInput, BoolOutput, BoolParam, Float64Input, Float64Output, Float64Param, Int64Input, Int64Output, Int64Param, log, mapFunction, Mapped,
  StringInput, StringOutput, StringParam, TimeInput, TimeOutput,
} from "tidemark";

const what = new StringInput("what").nullable();
const i = new Int64Input("i").nullable();
const f = new Float64Input("f").nullable();
const b = new BoolInput("b").nullable();
const s = new StringInput("s").nullable();
const t = new TimeInput("t").nullable();

const outI = new Int64Output("i");
const outF = new Float64Output("f");
const outB = new BoolOutput("b");
const outS = new StringOutput("s");
const outT = new TimeOutput("t");
const outRow = new Int64Output("row");

const times = new Int64Param("times").defaultsTo(1);
const prefix = new StringParam("prefix");
const scale = new Float64Param("scale").defaultsTo(1);
const on = new BoolParam("on").defaultsTo(true);

let spun: u32 = 0; // keeps a loop without end from being none

function answer(m: Mapped): string | null {
  const wish = what.of(m.row);
  if (wish == "") return copies(m);
  if (wish == "none") return null;
  if (wish == "big") return big(m);
  if (wish == "refuse") return "refused: " + s.of(m.row);
  if (wish == "trap") throw new Error(s.isNull(m.row) ? "trap" : s.of(m.row));
  while (wish == "fuel") spun++;
  if (wish == "log") {
    log(s.of(m.row));
    return null;
  }
  return "unknown: " + wish;
}

function copies(m: Mapped): string | null {
  const r = m.row;
  for (let n: i64 = 0; on.value && n < times.value; n++) {
    const w = m.emit();
    if (!i.isNull(r)) outI.set(w, i.of(r));
    if (!f.isNull(r)) outF.set(w, f.of(r) * scale.value);
    if (!b.isNull(r)) outB.set(w, b.of(r));
    if (!s.isNull(r)) outS.set(w, prefix.value + s.of(r));
    if (!t.isNull(r)) outT.set(w, t.of(r));
    outRow.set(w, n);
  }
  return null;
}

/** The longest text of a row: what is longer need not be made to see that it does not fit. */
const TEXT_BYTES: i64 = 1 << 20;

function big(m: Mapped): string | null {
  const w = m.emit(), size = s.size(m.row);
  const n = min(max(i.of(m.row), 0), TEXT_BYTES + 1) * size;
  const text = new ArrayBuffer(<i32>min(n, TEXT_BYTES + 1));
  for (let at = 0; at < text.byteLength; at += size) {
    memory.copy(changetype<usize>(text) + at, s.at(m.row), min(size, text.byteLength - at));
  }
  outS.setBytes(w, changetype<usize>(text), text.byteLength);
  outRow.set(w, 0);
  return null;
}

mapFunction({
  name: "probe",
  version: "1.0.0",
  inputs: [what, i, f, b, s, t],
  outputs: [outI, outF, outB, outS, outT, outRow],
  params: [times, prefix, scale, on],
  configure: () => times.value < 0 || times.value > 1000 ? "times must be from 0 to 1000" : null,
}, answer);
