// What a module exports (abi/SPEC.md, section 4), beside its memory and _initialize.
export {
  tm_arena, tm_configure, tm_manifest,
  tm_aggregate_create, tm_aggregate_add, tm_aggregate_merge, tm_aggregate_result, tm_aggregate_apply,
  tm_process, tm_pair, tm_map, tm_watermark, tm_watermark_tick, tm_trigger, tm_assign, tm_upgrade,
} from "tidemark/raw";
import "tidemark/print"; // abort, which asconfig.json names
