// A plug-in: a process function over the records of a window. It splits those of a key into
// sessions, which end after gap_ms without a record, and carries the one that is still open
// over into the key's next window, so that a session is whole although windows cut time into
// pieces, and is told of early although it goes on.
//
// A session of a single record is a bounce, and goes to the side output of that name. The
// open one of a window is a row too, with open true, and comes again in a later window.
//
// A window that a late record corrects begins with what its first firing was handed, which
// is therefore kept with the window. What it hands on is corrected no more: the next window
// may have begun with it.
import {
  BoolOutput, Bytes, BytesState, compareBytes, Firing, Int64Output, Int64Param, processFunction, Reader, Records, Row, SideOutput, StringInput,
  StringOutput, TimeOutput,
} from "tidemark";

const page = new StringInput("page").nullable();
const records = new Records([page]);
const gap = new Int64Param("gap_ms").defaultsTo(1_800_000);

const start = new TimeOutput("start");
const end = new TimeOutput("end");
const events = new Int64Output("events");
const entry = new StringOutput("entry");
const exit = new StringOutput("exit");
const open = new BoolOutput("open");

const bounceAt = new TimeOutput("at");
const bouncePage = new StringOutput("page");
const bounces = new SideOutput("bounces", [bounceAt, bouncePage]);

const handedOn = new BytesState(); // of a key: the session that its last window left open
const handed = new BytesState(); // of a window: what the key's was when it first fired

/** A text that lies in the frame, or in a state. */
class Text {
  at: usize = 0;
  size: i32 = 0;

  become(at: usize, size: i32): void {
    this.at = at;
    this.size = size;
  }

  /** Answers it, if it is not empty. */
  set(c: StringOutput, w: Row): void {
    if (this.size > 0) c.setBytes(w, this.at, this.size);
  }

  encode(to: Bytes): void {
    to.uvarint(this.size);
    to.append(this.at, this.size);
  }

  decode(from: Reader): void {
    const n = from.uvarint();
    this.size = n > <u64>from.left ? -1 : <i32>n;
    this.at = from.take(this.size);
  }
}

/** Records of a key without a gap between them. */
class Session {
  start: i64 = 0; // times of its first and of its last record
  end: i64 = 0;
  events: i64 = 0; // 0: there is no session
  entry: Text = new Text(); // pages of these two, empty without one
  exit: Text = new Text();

  /** The last time at which a record still belongs to it. */
  get until(): i64 {
    const sum = this.end + gap.value;
    return sum > this.end ? sum : i64.MAX_VALUE;
  }

  begin(r: Row): void {
    this.start = records.time(r);
    this.events = 0;
    this.extend(r);
    this.entry.become(this.exit.at, this.exit.size);
  }

  extend(r: Row): void {
    this.end = records.time(r);
    this.events++;
    this.exit.become(page.at(r), page.size(r));
  }

  encode(to: Bytes): void {
    to.int64(this.start);
    to.int64(this.end);
    to.int64(this.events);
    this.entry.encode(to);
    this.exit.encode(to);
  }

  /** Becomes what encode wrote, or none if that is not it. */
  decode(at: usize, size: i32): bool {
    this.events = 0;
    if (size == 0) return true;
    reader.reset(at, size);
    this.start = reader.int64();
    this.end = reader.int64();
    this.events = reader.int64();
    this.entry.decode(reader);
    this.exit.decode(reader);
    return !reader.damaged && reader.left == 0 && this.events > 0;
  }

  /** Tells of it, which no record can join any more. */
  close(f: Firing): void {
    if (this.events == 1) {
      const w = bounces.emit(f);
      bounceAt.set(w, this.start);
      this.entry.set(bouncePage, w);
    } else if (this.events > 1) {
      this.emit(f, false);
    }
    this.events = 0;
  }

  emit(f: Firing, goesOn: bool): void {
    const w = f.emit();
    start.set(w, this.start);
    end.set(w, this.end);
    events.set(w, this.events);
    this.entry.set(entry, w);
    this.exit.set(exit, w);
    open.set(w, goesOn);
  }
}

// Working memory, which nothing is kept in from firing to firing.
const reader = new Reader(0, 0);
const session = new Session();
const order: Row[] = [];
const kept = new Bytes();

/** Lists the records of a firing that have a time, by time, and those of one time in order of arrival. */
function sort(f: Firing): void {
  order.length = 0;
  let sorted = true;
  for (let r = records.at(f, 0), n = r + records.length(f); r < n; r++) {
    if (!records.timed(r)) continue;
    sorted = sorted && (order.length == 0 || records.time(order[order.length - 1]) <= records.time(r));
    order.push(r);
  }
  if (sorted) return;
  order.sort((a, b) => {
    const x = records.time(a), y = records.time(b);
    return x != y ? (x < y ? -1 : 1) : a - b;
  });
}

function split(f: Firing): string | null {
  const before = f.revision == 0 ? handedOn : handed, at = before.at(f), size = before.size(f), s = session;
  if (f.revision == 0 && size > 0) handed.setBytes(f, at, size);
  if (!s.decode(at, size)) return "the state is not that of a session";
  if (s.end >= f.start) s.events = 0; // windows have come out of their order
  sort(f);
  for (let i = 0; i < order.length; i++) {
    const r = order[i];
    if (s.events > 0 && records.time(r) <= s.until) {
      s.extend(r);
    } else {
      s.close(f);
      s.begin(r);
    }
  }
  if (s.until < f.end) s.close(f);
  kept.clear();
  if (s.events > 0) {
    s.emit(f, true);
    s.encode(kept);
  }
  if (f.revision == 0 && (kept.length != size || compareBytes(kept.at, kept.length, at, size) != 0)) {
    handedOn.set(f, kept);
  }
  return null;
}

processFunction({
  name: "sessionise",
  version: "1.0.0",
  records: records,
  outputs: [start, end, events, entry, exit, open],
  side: [bounces],
  params: [gap],
  keyState: handedOn,
  windowState: handed,
  configure: () => gap.value < 1 ? "gap_ms must be at least 1" : null,
}, split);
