// Declarations that are wrong, each in one way, and what the SDK says of them.
import { BoolOutput, Float64Param, Input, Int64Input, Int64Output, Int64Param, log, Output, Param, Spec, StringParam } from "tidemark";
import { check } from "tidemark/manifest";

function say(what: string, s: Spec): void {
  const problem = check(s);
  log(what + ": " + (problem === null ? "fine" : problem));
}

const out: Output[] = [new Int64Output("n")];
const many: Input[] = [];
for (let i = 0; i < 65; i++) many.push(new Int64Input("c" + i.toString()));

say("nothing wrong", { name: "a-1_b", outputs: out, inputs: many.slice(0, 64) });
say("no name", { outputs: out });
say("a capital", { name: "Sum", outputs: out });
say("a digit first", { name: "1a", outputs: out });
say("63 letters", { name: "a".repeat(63), outputs: out });
say("64 letters", { name: "a".repeat(64), outputs: out });
say("a long version", { name: "a", version: "é".repeat(33), outputs: out });
say("no output", { name: "a" });
say("schema 0", { name: "a", outputs: out, schema: 0 });
say("65 inputs", { name: "a", outputs: out, inputs: many });
say("a hyphen in a column", { name: "a", outputs: [new BoolOutput("x-y") as Output] });
say("an output twice", { name: "a", outputs: [out[0], new BoolOutput("n")] });
say("an input twice", { name: "a", outputs: out, inputs: [many[3], many[3]] });
say("a param twice", { name: "a", outputs: out, params: [new Int64Param("p") as Param, new StringParam("p")] });
say("required with a default", { name: "a", outputs: out, params: [new Int64Param("p").required().defaultsTo(1) as Param] });
say("not finite", { name: "a", outputs: out, params: [new Float64Param("p").defaultsTo(NaN) as Param] });
say("a long default", { name: "a", outputs: out, params: [new StringParam("p").defaultsTo("é".repeat(2049)) as Param] });
