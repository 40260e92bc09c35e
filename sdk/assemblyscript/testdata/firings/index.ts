// A process function that does what a firing's script says: commands with a semicolon
// behind each.
import {
  BoolOutput, Bytes, BytesState, Firing, FixedState, Float64Input, Float64Output, Int64Output, Int64Param, processFunction, Reader, Records, Row,
  SideOutput, StringInput, StringOutput, TimeOutput,
} from "tidemark";

const script = new StringInput("script");
const amount = new Float64Input("amount").nullable();
const name = new StringInput("name");
const records = new Records([amount, name]);

const text = new StringOutput("text");
const number = new Int64Output("number");
const float = new Float64Output("float");
const flag = new BoolOutput("flag");
const time = new TimeOutput("time");

const low = new Int64Output("n");
const lows = new SideOutput("lows", [low]);
const word = new StringOutput("word");
const words = new SideOutput("words", [word, new BoolOutput("never")]);
const unnamed = new SideOutput("unnamed", [word]);

/** 9 bytes, which the host keeps as 16. */
class Count {
  n: i64 = 7;
  odd: bool = true;
}

const ofKey = new BytesState();
const ofWindow = new FixedState<Count>();
const ofNothing = new BytesState();
const most = new Int64Param("most").defaultsTo(1000);

const count = new Count();
const bytes = new Bytes();
const reader = new Reader(0, 0);
let before: Row = 0;
let seen: i64 = 0;

function run(f: Firing): string | null {
  const commands = script.of(f.row).split(";");
  for (let i = 0; i < commands.length - 1; i++) {
    const parts = commands[i].split(" "), what = parts[0], arg = parts.length > 1 ? parts[1] : "";
    if (what == "row") number.set(f.emit(), I64.parseInt(arg));
    else if (what == "text") text.set(f.emit(), arg);
    else if (what == "mark") number.set(before = f.emit(), I64.parseInt(arg));
    else if (what == "texts") repeat(f.emit(), I32.parseInt(arg));
    else if (what == "again") text.set(before, "once more"); // which may be complete
    else if (what == "count") number.set(f.emit(), ++seen); // which is against the rules
    else if (what == "bare") f.emit();
    else if (what == "all") all(f);
    else if (what == "low") low.set(lows.emit(f), I64.parseInt(arg));
    else if (what == "word") word.set(words.emit(f), arg);
    else if (what == "unnamed") unnamed.emit(f);
    else if (what == "key") set(f, arg);
    else if (what == "nokey") ofKey.clear(f);
    else if (what == "keyhas") show(f);
    else if (what == "huge") ofKey.setBytes(f, changetype<usize>(new ArrayBuffer((1 << 20) + I32.parseInt(arg))), (1 << 20) + I32.parseInt(arg));
    else if (what == "add") add(f, I64.parseInt(arg));
    else if (what == "window") number.set(f.emit(), ofWindow.get(f, count) ? count.n : -count.n);
    else if (what == "nowindow") ofWindow.clear(f);
    else if (what == "nothing") ofNothing.clear(f);
    else if (what == "records") each(f);
    else if (what == "refuse") return arg;
    else throw new Error("no command " + what);
  }
  return null;
}

function repeat(w: Row, n: i32): void {
  for (let i = 0; i < n; i++) text.set(w, "x".repeat(1 << 19));
}

/** A row with all that a firing knows. */
function all(f: Firing): void {
  const w = f.emit();
  text.set(w, f.start.toString() + " " + f.end.toString() + " " + f.watermark.toString() + " " + f.now.toString() + " " + f.revision.toString());
  number.set(w, records.length(f));
  float.set(w, -0.5);
  flag.set(w, false);
  time.set(w, -1);
}

function set(f: Firing, v: string): void {
  bytes.clear();
  bytes.text(v);
  ofKey.set(f, bytes);
}

function show(f: Firing): void {
  reader.reset(ofKey.at(f), ofKey.size(f));
  text.set(f.emit(), reader.text(reader.left));
}

function add(f: Firing, n: i64): void {
  ofWindow.get(f, count);
  count.n += n;
  count.odd = (count.n & 1) != 0;
  ofWindow.set(f, count);
}

/** A row for each record. */
function each(f: Firing): void {
  for (let i = 0; i < records.length(f); i++) {
    const r = records.at(f, i), w = f.emit();
    if (!amount.isNull(r)) float.set(w, amount.of(r));
    if (records.timed(r)) time.set(w, records.time(r));
    text.setBytes(w, name.at(r), name.size(r));
  }
}

processFunction({
  name: "firings",
  version: "1",
  inputs: [script],
  records: records,
  outputs: [text, number, float, flag, time],
  side: [lows, words],
  params: [most],
  keyState: ofKey,
  windowState: ofWindow,
  schema: 3,
  configure: () => most.value < 0 ? "most is below 0" : null,
}, run);
