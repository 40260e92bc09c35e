// The raw ABI: the functions of abi/SPEC.md, section 4, and what a module needs around
// them. It and print.ts are the files that know WebAssembly; ../exports.ts names it to
// the compiler.
import { ARENA_BYTES, Frame, Status } from "./frame";
import { breathe } from "./garbage";
import { Op, registered } from "./plugin";

/** Where the host writes frames. */
const arena = heap.alloc(ARENA_BYTES);

export function tm_arena(): i64 { return addressAndSize(arena, ARENA_BYTES); }
export function tm_configure(frame: i32): i32 { return serve(Op.CONFIGURE, frame); }
export function tm_aggregate_create(frame: i32): i32 { return serve(Op.CREATE, frame); }
export function tm_aggregate_add(frame: i32): i32 { return serve(Op.ADD, frame); }
export function tm_aggregate_merge(frame: i32): i32 { return serve(Op.MERGE, frame); }
export function tm_aggregate_result(frame: i32): i32 { return serve(Op.RESULT, frame); }
export function tm_aggregate_apply(frame: i32): i32 { return serve(Op.APPLY, frame); }
export function tm_process(frame: i32): i32 { return serve(Op.PROCESS, frame); }
export function tm_pair(frame: i32): i32 { return serve(Op.PAIR, frame); }
export function tm_map(frame: i32): i32 { return serve(Op.MAP, frame); }
export function tm_watermark(frame: i32): i32 { return serve(Op.WATERMARK, frame); }
export function tm_watermark_tick(frame: i32): i32 { return serve(Op.TICK, frame); }
export function tm_trigger(frame: i32): i32 { return serve(Op.TRIGGER, frame); }
export function tm_assign(frame: i32): i32 { return serve(Op.ASSIGN, frame); }
export function tm_upgrade(frame: i32): i32 { return serve(Op.UPGRADE, frame); }

export function tm_manifest(): i64 {
  const p = registered;
  if (p === null) throw new Error("tidemark: no plug-in is registered: call fixedAggregate, processFunction or the like at the top level");
  kept = String.UTF8.encode(p.manifest(), false, String.UTF8.ErrorMode.REPLACE);
  return addressAndSize(changetype<usize>(kept), kept.byteLength);
}

/** Holds the manifest that the caller is about to read. */
let kept = new ArrayBuffer(0);

function addressAndSize(at: usize, size: u32): i64 { return <i64>at << 32 | <i64>size; }

function serve(o: Op, at: i32): i32 {
  const p = registered;
  const off = <u32>at - <u32>arena; // below the arena it wraps
  if (p === null || off >= ARENA_BYTES) return Status.BAD_FRAME;
  const f = changetype<Frame>(<usize>at);
  const status = p.call(o, f, ARENA_BYTES - off);
  if (status != Status.BAD_FRAME) breathe(f.size - f.outCap + f.outUsed);
  return status;
}
