/* Serves the calls of abi/SPEC.md, section 4, by the kind of plug-in that they are for.
 * tm_plugin is constant and everything is compiled with link-time optimisation, so of
 * the other kinds nothing is left in a module. */
#include "frame.h"

_Alignas(16) unsigned char tm_arena[ARENA_BYTES]; /* SPEC asks for 8, native compilers count on 16 */

static tm_status configure(const tm_module *m)
{
    tm_now.kept = tm_now.used = 0;
    tm_now.ready = false;
    if (!tm_bind_params(m->params))
        return BAD_FRAME;
    tm_error e = m->configure ? m->configure() : TM_OK;
    if (e)
        return tm_refuse(e);
    tm_now.kept = tm_now.used;
    tm_now.ready = true;
    return OK;
}

tm_status tm_call(const tm_module *m, tm_op o, uint32_t off)
{
    if (!tm_open_frame(off) || (o != CONFIGURE && !tm_now.ready))
        return BAD_FRAME;
    tm_now.serving = o;
    tm_now.base = tm_now.used = tm_now.kept;
    tm_now.outputs = tm_now.open = NULL; /* nothing of the call before is left */
    tm_now.states[0] = tm_now.states[1] = NULL;
    tm_now.decides = false;
    switch (o) {
    case CONFIGURE:
        return configure(m);
    case CREATE:
    case ADD:
    case MERGE:
    case RESULT:
        return m->aggregate ? tm_serve_aggregate(m->aggregate, o) : BAD_FRAME;
    case APPLY:
        return m->aggregate && tm_applies(m->aggregate) ? tm_serve_operations(m->aggregate) : BAD_FRAME;
    case PROCESS:
        return m->process ? tm_serve_process(m->process) : BAD_FRAME;
    case PAIR:
        return m->pair ? tm_serve_pairs(m->pair) : BAD_FRAME;
    case MAP:
        return m->map ? tm_serve_map(m->map) : BAD_FRAME;
    case WATERMARK:
    case TICK:
        return m->watermark ? tm_serve_generator(m->watermark, o) : BAD_FRAME;
    case TRIGGER:
        return m->trigger ? tm_serve_trigger(m->trigger) : BAD_FRAME;
    case ASSIGN:
        return m->assigner ? tm_serve_assigner(m->assigner) : BAD_FRAME;
    case UPGRADE: {
        const tm_upgrade *const *upgrades = tm_upgrades_of(m);
        return upgrades && *upgrades ? tm_serve_upgrades(upgrades, m->aggregate ? tm_width(m->aggregate) : 0) : BAD_FRAME;
    }
    }
    return BAD_FRAME;
}
