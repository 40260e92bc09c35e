// The raw ABI: the functions of abi/SPEC.md, section 4, and what a module needs around
// them. It and print.ts are the files that know WebAssembly; ../exports.ts names it to
// the compiler.
import { Op, registered } from "./aggregate";
import { ARENA_BYTES, Frame, Status } from "./frame";
import { manifest } from "./manifest";

/** Where the host writes frames. */
const arena = heap.alloc(ARENA_BYTES);

export function tm_arena(): i64 { return addressAndSize(arena, ARENA_BYTES); }
export function tm_configure(frame: i32): i32 { return serve(Op.CONFIGURE, frame); }
export function tm_aggregate_create(frame: i32): i32 { return serve(Op.CREATE, frame); }
export function tm_aggregate_add(frame: i32): i32 { return serve(Op.ADD, frame); }
export function tm_aggregate_merge(frame: i32): i32 { return serve(Op.MERGE, frame); }
export function tm_aggregate_result(frame: i32): i32 { return serve(Op.RESULT, frame); }

export function tm_manifest(): i64 {
  const a = registered;
  if (a === null) throw new Error("tidemark: no aggregate is registered: call fixedAggregate or variableAggregate at the top level");
  kept = String.UTF8.encode(manifest(a.spec, a.width), false, String.UTF8.ErrorMode.REPLACE);
  return addressAndSize(changetype<usize>(kept), kept.byteLength);
}

/** Holds the manifest that the caller is about to read. */
let kept = new ArrayBuffer(0);

function addressAndSize(at: usize, size: u32): i64 { return <i64>at << 32 | <i64>size; }

function serve(o: Op, at: i32): i32 {
  const a = registered;
  const off = <u32>at - <u32>arena; // below the arena it wraps
  if (a === null || off >= ARENA_BYTES) return Status.BAD_FRAME;
  const f = changetype<Frame>(<usize>at);
  const status = a.call(o, f, ARENA_BYTES - off);
  if (status != Status.BAD_FRAME) breathe(f.size - f.outCap + f.outUsed);
  return status;
}

// Garbage is collected between calls, when nothing on the stack refers to an object.
// How much there is nobody counts, so it is taken to be in proportion to the bytes of
// the frames; memory that grows all the same says that this is too little, and halves
// the time to the next collection.
let debt: u32 = 0;
let bearable: u32 = 1 << 20;
let pages: i32 = 0;

function breathe(bytes: u32): void {
  debt += bytes;
  const grown = memory.size() > pages;
  if (debt < bearable && !grown) return;
  if (grown && pages > 0) bearable >>= 1;
  registered!.rest();
  __collect();
  pages = memory.size();
  debt = 0;
}
