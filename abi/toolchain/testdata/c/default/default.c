#include "tidemark.h"

static tm_int64_out n = TM_INT64_OUT("n");
static tm_int64_param k = TM_INT64_PARAM("k", TM_DEFAULT(0x10));

static tm_error fold(void *acc, void *from) { return acc && from ? TM_OK : TM_OK; }
static tm_error visit(void *acc, tm_row r) { return acc && r ? TM_OK : TM_OK; }

const tm_module tm_plugin = {
    .name = "default", .version = "1", .params = {&k.param},
    .aggregate = &(const tm_aggregate){.outputs = {&n.out}, .size = 8, .add = visit, .merge = fold, .result = visit},
};
