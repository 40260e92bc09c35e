#include "tidemark.h"

static tm_float64_in value = TM_INT64_IN("value") undeclared;
