// Bytes that grow, and bytes that are read.

/**
 * Bytes that grow. Memory is kept when they are cleared, so an accumulator that is used
 * again allocates nothing.
 */
export class Bytes {
  private room: ArrayBuffer = new ArrayBuffer(0);
  private used: i32 = 0;

  /** The address of the first byte; appending may move the bytes. */
  get at(): usize { return changetype<usize>(this.room); }

  get length(): i32 { return this.used; }

  /** Forgets all bytes. */
  clear(): void { this.used = 0; }

  /** Makes room for n more bytes and gives the address of the first. */
  extend(n: i32): usize {
    const from = this.used, end = from + n, have = this.room.byteLength;
    if (end > have) {
      const wider = new ArrayBuffer(max(end, max(2 * have, 64)));
      memory.copy(changetype<usize>(wider), changetype<usize>(this.room), from);
      this.room = wider;
    }
    this.used = end;
    return changetype<usize>(this.room) + from;
  }

  /** Appends n bytes that lie outside. */
  append(from: usize, n: i32): void { memory.copy(this.extend(n), from, n); }

  /** Appends a byte. */
  byte(v: u8): void { store<u8>(this.extend(1), v); }

  /** Appends 8 bytes, the lowest first. */
  int64(v: i64): void { store<i64>(this.extend(8), v); }

  /** Appends 8 bytes, the lowest first. */
  float64(v: f64): void { store<f64>(this.extend(8), v); }

  /** Appends a number, 7 bits a byte, the lowest first; the top bit says that more follow. */
  uvarint(v: u64): void {
    for (; v >= 0x80; v >>= 7) this.byte(<u8>(v | 0x80));
    this.byte(<u8>v);
  }

  /** Appends a text as UTF-8, without its length. */
  text(v: string): void {
    const n = String.UTF8.byteLength(v);
    String.UTF8.encodeUnsafe(changetype<usize>(v), v.length, this.extend(n), false, String.UTF8.ErrorMode.REPLACE);
  }
}

/**
 * Reads bytes from the first to the last. Reading more than there is gives zeros and
 * makes it damaged, which the SDK refuses once decode has returned.
 */
export class Reader {
  /** Whether something was read that is not there, or is no number. */
  damaged: bool = false;

  /** Reads size bytes at an address; they must stay there while it is used. */
  constructor(private next: usize, private size: i32) {}

  /** Begins again, with other bytes. */
  reset(at: usize, size: i32): void {
    this.next = at;
    this.size = size;
    this.damaged = false;
  }

  /** The bytes that are left. */
  get left(): i32 { return this.size; }

  /** Takes n bytes and gives their address; 0 where there are not so many. */
  take(n: i32): usize {
    if (<u32>n > <u32>this.size) {
      this.damaged = true;
      this.size = 0;
      return 0;
    }
    const at = this.next;
    this.next += n;
    this.size -= n;
    return at;
  }

  /** Reads what Bytes.byte wrote. */
  byte(): u8 {
    const at = this.take(1);
    return at == 0 ? 0 : load<u8>(at);
  }

  /** Reads what Bytes.int64 wrote. */
  int64(): i64 {
    const at = this.take(8);
    return at == 0 ? 0 : load<i64>(at);
  }

  /** Reads what Bytes.float64 wrote. */
  float64(): f64 {
    const at = this.take(8);
    return at == 0 ? 0 : load<f64>(at);
  }

  /** Reads what Bytes.uvarint wrote. */
  uvarint(): u64 {
    let v: u64 = 0;
    for (let shift = 0; shift < 64; shift += 7) {
      const b = this.byte();
      v |= <u64>(b & 0x7F) << shift;
      if (b < 0x80) return v;
    }
    this.damaged = true;
    return 0;
  }

  /** Reads a text of n bytes. */
  text(n: i32): string {
    const at = this.take(n);
    return at == 0 ? "" : String.UTF8.decodeUnsafe(at, n);
  }
}

/**
 * The order of two texts by their bytes, which is that of their characters: below 0, 0
 * or above. (Strings of AssemblyScript compare by halves of surrogate pairs.)
 */
export function compareBytes(a: usize, sizeA: i32, b: usize, sizeB: i32): i32 {
  const order = memory.compare(a, b, min(sizeA, sizeB));
  return order != 0 ? order : sizeA - sizeB;
}
