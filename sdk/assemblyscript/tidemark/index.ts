/**
 * The SDK for plug-ins in AssemblyScript: user-defined aggregates over windows, compiled
 * to WebAssembly.
 *
 * An author declares the columns that the aggregate reads and answers, writes three
 * methods on an accumulator class, and registers it:
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
 * The host calls with batches of columns that lie in the module's memory, the frames of
 * abi/SPEC.md; columns such as price read them in place. Accumulators belong to the
 * host between any two calls, so whatever shall survive a call stands in the
 * accumulator and nowhere else. There is no clock, no randomness and no outside: the
 * same records must give the same answers.
 *
 * The laws: merging with a fresh accumulator changes nothing; merging the accumulators
 * of two parts equals adding both parts to one, bit for bit if the Spec says exact;
 * result changes nothing.
 *
 * Three ways to say no. A text in place of null refuses what is being worked on, and
 * reaches the job's owner. `throw` ends the instance, and the host goes on with a fresh
 * one. A mistake in a declaration is an error of `tidemark plugin build`.
 *
 * The same aggregate is driven by ../twin.js, a host in miniature, in tests that node
 * runs without WebAssembly.
 */
export { Bytes, Reader, compareBytes } from "./bytes";
export { BoolInput, Float64Input, Input, Int64Input, StringInput, TimeInput } from "./column";
export { fixedAggregate } from "./fixed";
export { Row } from "./frame";
export { jsonString } from "./json";
export { BoolOutput, Float64Output, Int64Output, Output, StringOutput, TimeOutput } from "./output";
export { BoolParam, Float64Param, Int64Param, Param, StringParam } from "./param";
export { log } from "./print";
export { Spec } from "./spec";
export { Texts } from "./texts";
export { variableAggregate } from "./variable";
