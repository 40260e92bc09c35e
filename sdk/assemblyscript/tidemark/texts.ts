import { Bytes, compareBytes } from "./bytes";

/**
 * Texts that are collected and then put in order, for sets and counts. It copies the
 * bytes and allocates nothing more once it has grown.
 */
export class Texts {
  private bytes: Bytes = new Bytes();
  private spans: Bytes = new Bytes();
  private order: u32[] = []; // of the spans, once sorted

  get length(): i32 { return this.spans.length / <i32>offsetof<Span>(); }

  /** Forgets all texts and keeps the memory. */
  clear(): void {
    this.bytes.clear();
    this.spans.clear();
  }

  /** Adds a text of n bytes at an address. */
  add(at: usize, n: i32): void {
    const s = changetype<Span>(this.spans.extend(<i32>offsetof<Span>()));
    s.head = head(at, n);
    s.from = this.bytes.length;
    s.size = n;
    this.bytes.append(at, n);
  }

  /** Puts the texts in the order of their bytes. */
  sort(): void {
    const n = this.length, order = this.order;
    order.length = n;
    for (let i = 0; i < n; i++) unchecked(order[i] = i);
    sorted = this;
    order.sort((a, b) => sorted.compare(a, b));
  }

  /** The address of text i, in order once sort was called. It moves with the next add. */
  at(i: i32): usize { return this.bytes.at + this.span(this.order[i]).from; }

  /** The bytes of text i. */
  size(i: i32): i32 { return this.span(this.order[i]).size; }

  compare(a: u32, b: u32): i32 {
    const x = this.span(a), y = this.span(b);
    if (x.head != y.head) return x.head < y.head ? -1 : 1;
    return compareBytes(this.bytes.at + x.from, x.size, this.bytes.at + y.from, y.size);
  }

  private span(i: u32): Span { return changetype<Span>(this.spans.at + i * offsetof<Span>()); }
}

/** What sort is working on: functions see no variables around them. */
let sorted = new Texts();

/** The place of a text, and its first 8 bytes, which settle most comparisons. */
@unmanaged
class Span {
  head: u64;
  from: u32;
  size: u32;
}

/** The first 8 bytes as a number in the order of texts. */
function head(at: usize, n: i32): u64 {
  if (n >= 8) return bswap<u64>(load<u64>(at));
  let h: u64 = 0;
  for (let i = 0; i < n; i++) h |= <u64>load<u8>(at + i) << (56 - 8 * i);
  return h;
}
