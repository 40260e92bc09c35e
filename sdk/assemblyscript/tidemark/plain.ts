// Classes whose memory is what the host keeps: accumulators and states of a fixed size.

/** Bounds them (abi/SPEC.md, section 2). */
const MAX_WIDTH: u32 = 4096;

/** The bit of a class's type information that says that no field is a reference. */
const POINTER_FREE: u32 = 1 << 5;

/** What keeps the host from keeping the memory of a class; null: nothing. */
export function checkPlain<T>(what: string, otherwise: string): string | null {
  const size = <u32>offsetof<T>();
  if ((__typeinfo(idof<T>()) & POINTER_FREE) == 0) {
    return what + " " + nameof<T>() + " holds a reference: a fixed " + what + " has no strings, arrays or other objects; " + otherwise;
  }
  if (size == 0 || size > MAX_WIDTH) {
    return what + " " + nameof<T>() + " has " + size.toString() + " bytes; a fixed " + what + " has 1 to 4096";
  }
  return null;
}

/** The size of a class's memory, rounded up to 8: a constant for the compiler. */
export function widthOf<T>(): u32 {
  return (<u32>offsetof<T>() + 7) & ~7;
}
