/**
 * The SDK for plug-ins in AssemblyScript: user-defined functions over windows, compiled
 * to WebAssembly.
 *
 * An author declares the columns that the plug-in reads and answers. For an aggregate,
 * there are three methods on an accumulator class, which a call names:
 *
 *     const price = new Float64Input("price");
 *     const total = new Float64Output("total");
 *
 *     class Sum {
 *       total: f64 = 0;
 *       add(r: Row): string | null { this.total += price.of(r); return null; }
 *       merge(o: Sum): string | null { this.total += o.total; return null; }
 *       result(w: Row): string | null { total.set(w, this.total); return null; }
 *     }
 *
 *     fixedAggregate<Sum>({ name: "sum", version: "1.0.0", inputs: [price], outputs: [total], orderInsensitive: true });
 *
 * For the other kinds there is a function, which is shown one thing at a time, and begins
 * any number of rows:
 *
 *     const more = new Float64Output("more");
 *
 *     mapFunction({ name: "more", version: "1.0.0", inputs: [price], outputs: [more] }, (m) => {
 *       if (price.of(m.row) > 0) more.set(m.emit(), price.of(m.row) * 1.1);
 *       return null;
 *     });
 *
 * It is processFunction for firings of windows, pairFunction for joins, mapFunction for
 * single records, watermarkGenerator for sources, windowAssigner for windows and trigger
 * for their firings. What a function keeps is a State of its spec, copied in and out.
 *
 * The host calls with batches of columns that lie in the module's memory, the frames of
 * abi/SPEC.md; columns such as price read them in place. Accumulators and states belong
 * to the host between any two calls, so whatever shall survive a call stands there and
 * nowhere else. There is no clock, no randomness and no outside: the same records must
 * give the same answers.
 *
 * The laws: merging with a fresh accumulator changes nothing; merging the accumulators
 * of two parts equals adding both parts to one, bit for bit if the Spec says exact;
 * result changes nothing. What another function answers follows from what it is shown and
 * its state.
 *
 * Three ways to say no. A text in place of null refuses what is being worked on, and
 * reaches the job's owner. `throw` ends the instance, and the host goes on with a fresh
 * one. A mistake in a declaration is an error of `tidemark plugin build`.
 *
 * The same plug-in is driven by ../twin.js, a host in miniature, in tests that node
 * runs without WebAssembly.
 */
export { Assigned, AssignerSpec, windowAssigner } from "./assigner";
export { Bytes, Reader, compareBytes } from "./bytes";
export { BoolInput, Float64Input, Input, Int64Input, StringInput, TimeInput } from "./column";
export { fixedAggregate } from "./fixed";
export { Row } from "./frame";
export { jsonString } from "./json";
export { Records } from "./list";
export { mapFunction, Mapped, MapSpec } from "./map";
export { BoolOutput, Float64Output, Int64Output, Output, StringOutput, TimeOutput } from "./output";
export { Pair, pairFunction, PairSpec } from "./pair";
export { BoolParam, Float64Param, Int64Param, Param, StringParam } from "./param";
export { log } from "./print";
export { Firing, processFunction, ProcessSpec, SideOutput } from "./process";
export { ModuleSpec, Spec } from "./spec";
export { BytesState, FixedState, State, Stateful } from "./state";
export { Texts } from "./texts";
export { Domain, Merged, NO_TIME, Pane, trigger, TriggerSpec } from "./trigger";
export { KeptOf, Upgrade, UpgradeBytes, UpgradeFrom } from "./upgrade";
export { variableAggregate } from "./variable";
export { Timed, watermarkGenerator, WatermarkSpec } from "./watermark";
