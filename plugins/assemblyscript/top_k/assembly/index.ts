// A plug-in: the k most frequent texts of a column with their counts, the most frequent
// first and of equally frequent ones the lower, as a JSON list in one text column.
//
// Counts are exact: it keeps all different texts, at most 1 MiB of them with their counts
// in one accumulator.
import { Bytes, compareBytes, Int64Param, jsonString, Reader, Row, StringInput, StringOutput, Texts, variableAggregate } from "tidemark";

const value = new StringInput("value");
const top = new StringOutput("top");
const k = new Int64Param("k").defaultsTo(10);

const DAMAGED = "accumulator is not a table of counts: its bytes are damaged";

/** Walks over the entries of a table: each the length of its text, the text, its count. */
class Cursor {
  private from: Reader = new Reader(0, 0);
  /** Whether there is a current entry: the address and size of its text, and its count. */
  some: bool = false;
  at: usize = 0;
  size: i32 = 0;
  count: u64 = 0;

  /** Begins with the first of the entries of a table. */
  open(table: Bytes): void {
    this.from.reset(table.at, table.length);
    this.next();
  }

  next(): void {
    this.some = this.from.left > 0;
    if (!this.some) return;
    const n = this.from.uvarint();
    this.size = n > <u64>this.from.left ? -1 : <i32>n;
    this.at = this.from.take(this.size);
    this.count = this.from.uvarint();
    this.some = !this.from.damaged;
  }

  get damaged(): bool { return this.from.damaged; }

  /** Appends the current entry to a table and goes on. */
  moveTo(to: Bytes): void {
    append(to, this.at, this.size, this.count);
    this.next();
  }
}

function append(to: Bytes, at: usize, size: i32, count: u64): void {
  to.uvarint(size);
  to.append(at, size);
  to.uvarint(count);
}

// One table at a time is walked over, or two are added up.
const mine = new Cursor();
const theirs = new Cursor();

/** An entry of the result. */
class Entry {
  constructor(public text: string, public count: u64) {}
}

/**
 * The accumulator. Written, it is each different text in ascending order, its length
 * before it and its count behind it.
 */
class Table {
  private sorted: Bytes = new Bytes();
  private added: Texts = new Texts(); // since; repetitions are found when it is sorted
  private scratch: Bytes = new Bytes(); // memory for the next sorted
  private run: Bytes = new Bytes(); // and for added as a table

  reset(): void {
    this.sorted.clear();
    this.added.clear();
  }

  add(r: Row): string | null {
    this.added.add(value.at(r), value.size(r));
    return null;
  }

  merge(o: Table): string | null {
    const why = this.settle();
    return why !== null ? why : this.union(o.sorted); // o was decoded: it has nothing added
  }

  result(w: Row): string | null {
    const best: Entry[] = []; // by falling count
    for (mine.open(this.sorted); mine.some; mine.next()) {
      if (best.length == <i32>k.value) {
        if (mine.count <= best[best.length - 1].count) continue;
        best.pop();
      }
      // Texts come in ascending order, so an equal count goes behind.
      let place = best.length;
      while (place > 0 && best[place - 1].count < mine.count) place--;
      const entry = new Entry(String.UTF8.decodeUnsafe(mine.at, mine.size), mine.count);
      best.push(entry);
      best.copyWithin(place + 1, place);
      best[place] = entry;
    }
    if (mine.damaged) return DAMAGED;
    const list: string[] = [];
    for (let i = 0; i < best.length; i++) {
      list.push('{"value":' + jsonString(best[i].text) + ',"count":' + best[i].count.toString() + "}");
    }
    top.set(w, "[" + list.join(",") + "]");
    return null;
  }

  encode(to: Bytes): string | null {
    const why = this.settle();
    if (why !== null) return why;
    to.append(this.sorted.at, this.sorted.length);
    return null;
  }

  decode(from: Reader): string | null {
    const size = from.left;
    this.sorted.append(from.take(size), size);
    return null;
  }

  /** Moves what was added into sorted. */
  private settle(): string | null {
    const added = this.added, run = this.run;
    if (added.length == 0) return null;
    added.sort();
    run.clear();
    for (let i = 0; i < added.length;) {
      const first = i++, at = added.at(first), size = added.size(first);
      while (i < added.length && compareBytes(at, size, added.at(i), added.size(i)) == 0) i++;
      append(run, at, size, i - first);
    }
    added.clear();
    return this.union(run);
  }

  /** Adds the counts of another table to sorted. */
  private union(other: Bytes): string | null {
    const out = this.scratch;
    out.clear();
    mine.open(this.sorted);
    theirs.open(other);
    while (mine.some && theirs.some) {
      const order = compareBytes(mine.at, mine.size, theirs.at, theirs.size);
      if (order == 0) {
        mine.count += theirs.count;
        theirs.next();
      }
      if (order <= 0) mine.moveTo(out);
      else theirs.moveTo(out);
    }
    while (mine.some) mine.moveTo(out);
    while (theirs.some) theirs.moveTo(out);
    if (mine.damaged || theirs.damaged) return DAMAGED;
    this.scratch = this.sorted;
    this.sorted = out;
    return null;
  }
}

variableAggregate<Table>({
  name: "top_k",
  version: "1.0.0",
  inputs: [value],
  outputs: [top],
  params: [k],
  orderInsensitive: true,
  exact: true,
  configure: () => k.value < 1 || k.value > 1000 ? "k is not from 1 to 1000" : null,
});
