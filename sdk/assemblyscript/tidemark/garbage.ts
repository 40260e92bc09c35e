// When garbage is collected: while nothing on the stack refers to an object, between
// calls or between the operations of one.
import { registered } from "./plugin";

// How much garbage there is nobody counts, so it is taken to be in proportion to the
// bytes that are read; memory that grows all the same says that this is too little, and
// halves the time to the next collection.
let debt: u32 = 0;
let bearable: u32 = 1 << 20;
let pages: i32 = 0;

/**
 * Collects garbage if it is time to. bytes are those that have been read since the
 * last call of this.
 */
export function breathe(bytes: u32): void {
  debt += bytes;
  const grown = memory.size() > pages;
  if (debt < bearable && !grown) return;
  if (grown && pages > 0) bearable >>= 1;
  registered!.rest();
  __collect();
  pages = memory.size();
  debt = 0;
}
