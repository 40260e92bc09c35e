// A plug-in: the exact number of different texts in a column.
//
// It keeps the texts themselves, so it never guesses, and one accumulator holds at most
// 1 MiB of them.
import { Bytes, compareBytes, Int64Output, Reader, Row, StringInput, Texts, variableAggregate } from "tidemark";

const value = new StringInput("value");
const distinct = new Int64Output("distinct");

const DAMAGED = "accumulator is not a set: its bytes are damaged";

/** Walks over the members of a set: each its length, then its bytes. */
class Cursor {
  private from: Reader = new Reader(0, 0);
  /** Whether there is a current member: its address and its size. */
  some: bool = false;
  at: usize = 0;
  size: i32 = 0;

  /** Begins with the first of the members that lie in n bytes at an address. */
  open(at: usize, n: i32): void {
    this.from.reset(at, n);
    this.next();
  }

  next(): void {
    this.some = this.from.left > 0;
    if (!this.some) return;
    const n = this.from.uvarint();
    this.size = n > <u64>this.from.left ? -1 : <i32>n;
    this.at = this.from.take(this.size);
    this.some = !this.from.damaged;
  }

  get damaged(): bool { return this.from.damaged; }

  /** Appends the current member to a set and goes on. */
  moveTo(to: Bytes): void {
    append(to, this.at, this.size);
    this.next();
  }
}

function append(to: Bytes, at: usize, size: i32): void {
  to.uvarint(size);
  to.append(at, size);
}

// One union at a time is made.
const mine = new Cursor();
const theirs = new Cursor();

/**
 * The accumulator. Written, it is the number of its members and then each member, its
 * length before it, in ascending order: one set, one sequence of bytes, whatever the
 * order of records and merges.
 */
class Members {
  private n: u64 = 0; // members in sorted
  private sorted: Bytes = new Bytes();
  private added: Texts = new Texts(); // since; repetitions are found when it is sorted
  private scratch: Bytes = new Bytes(); // memory for the next sorted
  private run: Bytes = new Bytes(); // and for added as a set

  reset(): void {
    this.n = 0;
    this.sorted.clear();
    this.added.clear();
  }

  add(r: Row): string | null {
    this.added.add(value.at(r), value.size(r));
    return null;
  }

  merge(o: Members): string | null {
    const why = this.settle();
    return why !== null ? why : this.union(o.sorted, o.n); // o was decoded: it has nothing added
  }

  result(w: Row): string | null {
    distinct.set(w, this.n); // decoded, too
    return null;
  }

  encode(to: Bytes): string | null {
    const why = this.settle();
    if (why !== null) return why;
    to.uvarint(this.n);
    to.append(this.sorted.at, this.sorted.length);
    return null;
  }

  decode(from: Reader): string | null {
    this.n = from.uvarint();
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
    let n: u64 = 0;
    for (let i = 0; i < added.length; i++) {
      const at = added.at(i), size = added.size(i);
      if (i > 0 && compareBytes(at, size, added.at(i - 1), added.size(i - 1)) == 0) continue;
      append(run, at, size);
      n++;
    }
    added.clear();
    return this.union(run, n);
  }

  /** Puts the n members of another set into sorted. */
  private union(other: Bytes, n: u64): string | null {
    const out = this.scratch;
    out.clear();
    n += this.n;
    mine.open(this.sorted.at, this.sorted.length);
    theirs.open(other.at, other.length);
    while (mine.some && theirs.some) {
      const order = compareBytes(mine.at, mine.size, theirs.at, theirs.size);
      if (order == 0) {
        theirs.next();
        n--;
      }
      if (order <= 0) mine.moveTo(out);
      else theirs.moveTo(out);
    }
    while (mine.some) mine.moveTo(out);
    while (theirs.some) theirs.moveTo(out);
    if (mine.damaged || theirs.damaged) return DAMAGED;
    this.n = n;
    this.scratch = this.sorted;
    this.sorted = out;
    return null;
  }
}

variableAggregate<Members>({
  name: "distinct",
  version: "1.0.0",
  inputs: [value],
  outputs: [distinct],
  orderInsensitive: true,
  exact: true,
});
