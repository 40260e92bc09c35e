/* The raw ABI: the functions of abi/SPEC.md, section 4, and what a module needs around
 * them. The only file that knows WebAssembly. */
#include "frame.h"

#ifdef __wasm__

#define EXPORT(name) __attribute__((export_name(#name))) extern
#define PAGE_BYTES ((size_t)65536)

extern unsigned char __heap_base; /* from the linker: where nothing of the module is */

static int64_t address_and_size(const void *at, size_t n) { return (int64_t)((uint64_t)(uintptr_t)at << 32 | n); }

static int32_t serve(tm_op o, int32_t frame)
{
    /* A frame below the arena wraps and is refused. */
    return tm_call(&tm_plugin, o, (uint32_t)frame - (uint32_t)(uintptr_t)tm_arena);
}

EXPORT(tm_arena) int64_t export_arena(void) { return address_and_size(tm_arena, ARENA_BYTES); }
EXPORT(tm_configure) int32_t export_configure(int32_t frame) { return serve(CONFIGURE, frame); }
EXPORT(tm_aggregate_create) int32_t export_create(int32_t frame) { return serve(CREATE, frame); }
EXPORT(tm_aggregate_add) int32_t export_add(int32_t frame) { return serve(ADD, frame); }
EXPORT(tm_aggregate_merge) int32_t export_merge(int32_t frame) { return serve(MERGE, frame); }
EXPORT(tm_aggregate_result) int32_t export_result(int32_t frame) { return serve(RESULT, frame); }
EXPORT(tm_aggregate_apply) int32_t export_apply(int32_t frame) { return serve(APPLY, frame); }
EXPORT(tm_process) int32_t export_process(int32_t frame) { return serve(PROCESS, frame); }
EXPORT(tm_pair) int32_t export_pair(int32_t frame) { return serve(PAIR, frame); }
EXPORT(tm_map) int32_t export_map(int32_t frame) { return serve(MAP, frame); }
EXPORT(tm_watermark) int32_t export_watermark(int32_t frame) { return serve(WATERMARK, frame); }
EXPORT(tm_watermark_tick) int32_t export_tick(int32_t frame) { return serve(TICK, frame); }
EXPORT(tm_trigger) int32_t export_trigger(int32_t frame) { return serve(TRIGGER, frame); }
EXPORT(tm_assign) int32_t export_assign(int32_t frame) { return serve(ASSIGN, frame); }
EXPORT(tm_upgrade) int32_t export_upgrade(int32_t frame) { return serve(UPGRADE, frame); }

EXPORT(tm_manifest) int64_t export_manifest(void)
{
    const char *problem = tm_check(&tm_plugin);
    if (problem)
        tm_panic(problem);
    return address_and_size(tm_arena, tm_write_manifest(&tm_plugin));
}

unsigned char *tm_raw_heap(void) { return (unsigned char *)(((uintptr_t)&__heap_base + 7) & ~(uintptr_t)7); }

bool tm_raw_heap_has(size_t n)
{
    size_t have = __builtin_wasm_memory_size(0) * PAGE_BYTES, end = (size_t)tm_raw_heap() + n;
    if (end < n) /* beyond 4 GiB */
        return false;
    return end <= have || __builtin_wasm_memory_grow(0, (end - have + PAGE_BYTES - 1) / PAGE_BYTES) != (size_t)-1;
}

struct iovec {
    const char *at;
    size_t len;
};

__attribute__((import_module("wasi_snapshot_preview1"), import_name("fd_write"))) int32_t
fd_write(int32_t fd, const struct iovec *parts, size_t n, size_t *written);

_Noreturn void tm_panic(const char *text)
{
    struct iovec parts[] = {{"panic: ", 7}, {text, tm_length(text)}, {"\n", 1}};
    size_t written;
    fd_write(2, parts, 3, &written); /* whether it could, nobody is left to hear */
    __builtin_trap();
}

void tm_log(tm_text line)
{
    struct iovec parts[] = {{line.at, line.len}, {"\n", 1}};
    size_t written;
    fd_write(2, parts, 2, &written);
}

/* What a compiler may call without being asked to: bulk memory makes instructions of
 * the first three. */
void *memcpy(void *restrict to, const void *restrict from, size_t n) { return __builtin_memcpy(to, from, n); }
void *memmove(void *to, const void *from, size_t n) { return __builtin_memmove(to, from, n); }
void *memset(void *to, int c, size_t n) { return __builtin_memset(to, c, n); }
int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;
    for (; n && *x == *y; n--)
        x++, y++;
    return n ? *x - *y : 0;
}

#endif
