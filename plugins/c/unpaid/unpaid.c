/* A plug-in for a join of orders with payments: it tells what of an order a payment leaves
 * open. */
#include "tidemark.h"

static tm_float64_in due = TM_FLOAT64_IN("due");
static tm_float64_in paid = TM_FLOAT64_IN("paid");
static tm_float64_param tolerance = TM_FLOAT64_PARAM("tolerance", TM_DEFAULT(0));
static tm_float64_out open = TM_FLOAT64_OUT("open"); /* below 0: too much was paid */
static tm_int64_out waited = TM_INT64_OUT("waited_ms");

static tm_error settle(const tm_pair *p)
{
    if (tm_float64_of(&paid, p->right.row) < 0)
        return "paid is below 0";
    double rest = tm_float64_of(&due, p->left.row) - tm_float64_of(&paid, p->right.row);
    if ((rest < 0 ? -rest : rest) <= tm_float64_value(&tolerance))
        return TM_OK;
    tm_row w = tm_emit();
    tm_set_float64(&open, w, rest);
    if (p->left.timed && p->right.timed)
        tm_set_int64(&waited, w, (int64_t)((uint64_t)p->right.time - (uint64_t)p->left.time)); /* wraps at the ends of time */
    return TM_OK;
}

const tm_module tm_plugin = {
    .name = "unpaid",
    .version = "1.0.0",
    .params = {&tolerance.param},
    .pair = &(const tm_pairs){
        .left = {&due.in},
        .right = {&paid.in},
        .outputs = {&open.out, &waited.out},
        .each = settle,
    },
};
