// What functions keep: a piece of bytes that the host holds between calls.
import { answer, What } from "./answer";
import { Bytes } from "./bytes";
import { Frame } from "./frame";
import { Pieces } from "./pieces";
import { checkPlain, widthOf } from "./plain";

/** The longest state (abi/SPEC.md, section 2). */
const STATE_BYTES: u32 = 1 << 20;

/** What has states: a Firing, a Pane, a Timed, or a session that was merged into another. */
export abstract class Stateful {
  /** The number, in the frame, of its state of a sort. */
  abstract slot(what: u32): u32;
  /** Whether its states can be set. */
  get writable(): bool { return true; }
}

/** Where the bytes of a state lie. */
@unmanaged
class Place {
  at: usize;
  size: i32;
}

/** A state: FixedState or BytesState. */
export abstract class State {
  /** Of an entry with a new state; 0: no function has it. */
  private what: u32 = 0;
  private pieces: Pieces = new Pieces();
  /** By slot, what the host gave or an item before has set. */
  private places: Bytes = new Bytes();
  private slots: u32 = 0;
  /** What the item in work has set, and for which slot. */
  private next: Bytes = new Bytes();
  private changed: bool = false;
  private owner: u32 = 0;

  /** What is wrong with the declaration; null: nothing. */
  problem: string | null = null;

  /** Removes the state. */
  clear(item: Stateful): void { this.replace(item, 0); }

  /** Says what sort of state it is. Called by the SDK. */
  claim(what: u32): void { this.what = what; }

  /** Takes the n states of a frame. Called by the SDK. */
  open(f: Frame, off: u32, n: u32): bool {
    if (!this.pieces.open(f, off, n)) return false;
    this.slots = n;
    this.changed = false;
    this.places.clear();
    this.places.extend(<i32>n * <i32>offsetof<Place>());
    for (let i: u32 = 0; i < n; i++) this.put(i, this.pieces.at(i), this.pieces.size(i));
    return true;
  }

  /** Whether there is a slot of a number, which a host has given. Used by the SDK. */
  has(slot: u32): bool { return slot < this.slots; }

  private place(slot: u32): Place { return changetype<Place>(this.places.at + slot * offsetof<Place>()); }

  private put(slot: u32, at: usize, size: i32): void {
    const p = this.place(slot);
    p.at = at;
    p.size = size;
  }

  private mine(item: Stateful): u32 {
    if (this.what == 0) throw new Error("tidemark: the state belongs to no function: name it in its spec");
    return item.slot(this.what);
  }

  /** The address of the state. */
  protected bytesAt(item: Stateful): usize {
    const slot = this.mine(item);
    return this.changed && slot == this.owner ? this.next.at : this.place(slot).at;
  }

  /** The size of the state; 0: there is none. */
  protected bytesSize(item: Stateful): i32 {
    const slot = this.mine(item);
    return this.changed && slot == this.owner ? this.next.length : this.place(slot).size;
  }

  /** Makes room for a new state of n bytes, for the caller to fill in, and gives its address. */
  protected replace(item: Stateful, n: i32): usize {
    const slot = this.mine(item);
    if (!item.writable) throw new Error("tidemark: the state of a window that was merged into another is read only");
    if (<u32>n > STATE_BYTES) throw new Error("tidemark: a state is longer than 1 MiB");
    this.next.clear();
    this.changed = true;
    this.owner = slot;
    return this.next.extend(n);
  }

  /** Answers what the item in work has set, where items behind it find it. Called by the SDK. */
  leave(): void {
    if (!this.changed) return;
    this.changed = false;
    const n = this.next.length, body = answer.bytes(this.what, this.next.at, n);
    if (body != 0) this.put(this.owner, body, n);
  }
}

/**
 * A state that is a class with fields of plain numbers and truth values, at most 4,096
 * bytes. Its memory layout is what the host keeps, so a changed layout needs a new
 * schema in the spec.
 */
export class FixedState<T> extends State {
  private fresh: T = instantiate<T>();

  constructor() {
    super();
    this.problem = checkPlain<T>("state", "use BytesState");
  }

  /**
   * Copies the state into v. Without one, and if the one that is there has another size,
   * v becomes as its class declares it, and false is answered.
   */
  get(item: Stateful, v: T): bool {
    const there = this.bytesSize(item) == <i32>widthOf<T>();
    memory.copy(changetype<usize>(v), there ? this.bytesAt(item) : changetype<usize>(this.fresh), offsetof<T>());
    return there;
  }

  /** Replaces the state with a copy of v. */
  set(item: Stateful, v: T): void {
    const at = this.replace(item, widthOf<T>());
    memory.fill(at + offsetof<T>(), 0, widthOf<T>() - offsetof<T>());
    memory.copy(at, changetype<usize>(v), offsetof<T>());
  }
}

/** A state that the function encodes itself, of at most 1 MiB. */
export class BytesState extends State {
  /** The address of the state, valid until it is set and until the function returns; nothing may be written there. */
  at(item: Stateful): usize { return this.bytesAt(item); }

  /** The bytes of the state; 0: there is none. */
  size(item: Stateful): i32 { return this.bytesSize(item); }

  /** Replaces the state with a copy of some bytes; one of no bytes is removed. */
  set(item: Stateful, v: Bytes): void { this.setBytes(item, v.at, v.length); }

  /** Is set for n bytes at an address. */
  setBytes(item: Stateful, from: usize, n: i32): void { memory.copy(this.replace(item, n), from, n); }
}
