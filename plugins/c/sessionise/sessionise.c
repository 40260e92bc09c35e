/* A process function over the records of a window: it splits those of a key into sessions,
 * which end after gap_ms without a record, and carries the one that is still open over into
 * the key's next window, so that a session is whole although windows cut time into pieces,
 * and is told of early although it goes on.
 *
 * A session of a single record is a bounce, and goes to the side output of that name. The
 * open one of a window is a row too, with open true, and comes again in a later window.
 *
 * A window that a late record corrects begins with what its first firing was handed, which
 * is therefore kept with the window. What it hands on is corrected no more: the next window
 * may have begun with it. */
#include "tidemark.h"

static tm_string_in page = TM_STRING_IN("page", .nullable = true);
static tm_list records = TM_LIST(&page.in);
static tm_int64_param gap = TM_INT64_PARAM("gap_ms", TM_DEFAULT(1800000));

static tm_timestamp_out start = TM_TIMESTAMP_OUT("start");
static tm_timestamp_out end = TM_TIMESTAMP_OUT("end");
static tm_int64_out events = TM_INT64_OUT("events");
static tm_string_out entry = TM_STRING_OUT("entry");
static tm_string_out last = TM_STRING_OUT("exit");
static tm_bool_out open = TM_BOOL_OUT("open");

static tm_timestamp_out at = TM_TIMESTAMP_OUT("at");
static tm_string_out bounce = TM_STRING_OUT("page");
static tm_side bounces = TM_SIDE("bounces", &at.out, &bounce.out);

static tm_state handed_on; /* of a key: the session that its last window left open */
static tm_state handed;    /* of a window: what the key's was when it first fired */

/* Records of a key without a gap between them. Its texts are views of the frame. */
typedef struct {
    int64_t start, end; /* times of its first and of its last record */
    int64_t events;     /* 0: there is no session */
    tm_text entry, last; /* pages of these two, empty without one */
} session;

/* Writes a session as it is kept; none is no bytes. */
static void encode(const session *s, tm_bytes *to)
{
    const tm_text texts[] = {s->entry, s->last};
    if (s->events == 0)
        return;
    tm_append(to, (const int64_t[]){s->start, s->end, s->events}, 24);
    for (int i = 0; i < 2; i++) {
        tm_append_uvarint(to, texts[i].len);
        tm_append(to, texts[i].at, texts[i].len);
    }
}

/* Is the inverse; false: the bytes are damaged. */
static bool decode(tm_text bytes, session *s)
{
    tm_text head;
    int64_t numbers[3];
    *s = (session){0};
    if (bytes.len == 0)
        return true;
    if (!tm_take(&bytes, sizeof numbers, &head))
        return false;
    __builtin_memcpy(numbers, head.at, sizeof numbers);
    s->start = numbers[0];
    s->end = numbers[1];
    s->events = numbers[2];
    tm_text *texts[] = {&s->entry, &s->last};
    for (int i = 0; i < 2; i++) {
        uint64_t n;
        if (!tm_take_uvarint(&bytes, &n) || n > bytes.len || !tm_take(&bytes, (size_t)n, texts[i]))
            return false;
    }
    return bytes.len == 0 && s->events > 0;
}

/* The last time at which a record still belongs to a session. */
static int64_t until(const session *s)
{
    int64_t ms = tm_int64_value(&gap);
    return s->end > INT64_MAX - ms ? INT64_MAX : s->end + ms;
}

/* ---- What is told -------------------------------------------------------------------- */

/* Answers a page that there is. */
static void set(tm_string_out *c, tm_row w, tm_text text)
{
    if (text.len)
        tm_set_string(c, w, text);
}

static void emit(const session *s, bool goes_on)
{
    tm_row w = tm_emit();
    tm_set_timestamp(&start, w, s->start);
    tm_set_timestamp(&end, w, s->end);
    tm_set_int64(&events, w, s->events);
    set(&entry, w, s->entry);
    set(&last, w, s->last);
    tm_set_bool(&open, w, goes_on);
}

/* Tells of a session that no record can join any more. */
static void closed(const session *s)
{
    if (s->events == 1) {
        tm_row w = tm_emit_side(&bounces);
        tm_set_timestamp(&at, w, s->start);
        set(&bounce, w, s->entry);
    } else if (s->events > 1) {
        emit(s, false);
    }
}

/* ---- The walk ------------------------------------------------------------------------ */

/* A record with its time. */
typedef struct {
    int64_t time;
    tm_row row;
} timed;

static int by_time(const void *a, const void *b)
{
    int64_t x = ((const timed *)a)->time, y = ((const timed *)b)->time;
    return x < y ? -1 : x > y;
}

/* Lists the records of a firing that have a time, by time, and answers their number. */
static size_t in_order(timed **list)
{
    size_t n = 0;
    bool sorted = true;
    *list = tm_alloc((records.to - records.from) * sizeof **list);
    for (tm_row r = records.from; r < records.to; r++)
        if (!tm_null(&records.time.in, r)) {
            (*list)[n] = (timed){tm_timestamp_of(&records.time, r), r};
            sorted = sorted && (n == 0 || (*list)[n - 1].time <= (*list)[n].time);
            n++;
        }
    if (!sorted)
        tm_sort(*list, n, sizeof **list, by_time);
    return n;
}

static tm_error split(const tm_firing *f)
{
    session s;
    timed *list;
    tm_text before = tm_state_of(f->revision ? &handed : &handed_on);
    if (f->revision == 0 && before.len)
        tm_put_bytes(&handed, before.at, before.len);
    if (!decode(before, &s))
        return "the state is not that of a session";
    if (s.end >= f->start) /* windows have come out of their order */
        s = (session){0};
    size_t n = in_order(&list);
    for (size_t i = 0; i < n; i++) {
        tm_text p = tm_string_of(&page, list[i].row);
        if (s.events > 0 && list[i].time <= until(&s)) {
            s.end = list[i].time;
            s.events++;
            s.last = p;
            continue;
        }
        closed(&s);
        s = (session){list[i].time, list[i].time, 1, p, p};
    }
    if (until(&s) < f->end) {
        closed(&s);
        s = (session){0};
    }
    if (s.events > 0)
        emit(&s, true);
    if (f->revision == 0) {
        tm_bytes kept = {0};
        encode(&s, &kept);
        if (tm_compare(before, (tm_text){(const char *)kept.at, kept.len}) != 0)
            tm_put_bytes(&handed_on, kept.at, kept.len);
    }
    return TM_OK;
}

static tm_error configure(void) { return tm_int64_value(&gap) < 1 ? "gap_ms must be at least 1" : TM_OK; }

const tm_module tm_plugin = {
    .name = "sessionise",
    .version = "1.0.0",
    .params = {&gap.param},
    .configure = configure,
    .process = &(const tm_process){
        .records = &records,
        .outputs = {&start.out, &end.out, &events.out, &entry.out, &last.out, &open.out},
        .sides = {&bounces},
        .key_state = &handed_on,
        .window_state = &handed,
        .each = split,
    },
};
