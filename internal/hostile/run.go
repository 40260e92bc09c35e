package hostile

import (
	"fmt"
	"strings"
)

// records are lines of an input, with one key and a second between them: each value is in
// a window of its own.
func records(values ...int64) string {
	var b strings.Builder
	for i, v := range values {
		fmt.Fprintf(&b, `{"t":%d,"k":"a","v":%d}`+"\n", 1000*i, v)
	}
	return b.String()
}

// input is the file of all jobs of the corpus.
const input = "in.jsonl"

func run() []Case {
	// A case with sum's text, by the job that sums.
	of := func(name, message string, m module, in string, quick bool) Case {
		return Case{Name: name, Module: m, Job: SumJob("VERSION", input, "", ""), Input: in, Message: message, Quick: quick}
	}
	odd := func(name, message string, value int64) Case {
		return of(name, message, sum(), records(1, value), false)
	}
	const (
		endless = "loop br 0 end"
		aside   = "    on_error: dead_letter\n"
		add     = "tm_aggregate_add"
		noMore  = "used more than 50"
	)
	cases := []Case{
		// A loop in each export.
		of("a loop in _initialize", "used more than 500000000 fuel in _initialize", begin("_initialize", endless), records(1), false),
		of("a loop in tm_arena", "used more than 500000000 fuel in tm_arena", begin("tm_arena", endless), records(1), false),
		of("a loop in tm_configure", "used more than 501000000 fuel in a call with 1 record in tm_configure", begin("tm_configure", endless), records(1), false),
		of("a loop in create", noMore, begin("tm_aggregate_create", endless), records(1), false),
		of("a loop in add", "used more than 502000000 fuel in a call with 1 record and 1 accumulator in tm_aggregate_add", begin(add, endless), records(1), true),
		{Name: "a loop in merge", Module: begin("tm_aggregate_merge", endless), Message: noMore,
			Job:   strings.NewReplacer("{tumbling: 1s}", "{session: 1500ms}", "{out_of_orderness: 0s}", "{out_of_orderness: 10s}").Replace(SumJob("VERSION", input, "", "")),
			Input: `{"t":5000,"k":"a","v":1}` + "\n" + `{"t":7000,"k":"a","v":1}` + "\n" + `{"t":6000,"k":"a","v":1}` + "\n"},
		of("a loop in result", noMore, begin("tm_aggregate_result", endless), records(1), false),
		{Name: "a loop in add, of records that are set aside: without end", Module: begin(add, endless), Job: SumJob("VERSION", input, "parallelism: 4\n", aside),
			Input: strings.Repeat(records(1, 1, 1, 1), 500), Endless: true, Quick: true},
		{Name: "a loop in tm_map", Module: does(`"map": {"inputs": [{"name": "v", "type": "int64"}], "outputs": [{"name": "w", "type": "int64"}]}`, "tm_map", endless),
			Job: stepsJob("", "  m:\n    from: in\n    map: {plugin: p, columns: {v: v}}\n"+counting("m", "")), Input: records(1), Message: noMore},
		{Name: "a loop in tm_process", Module: does(`"process": {"inputs": [{"name": "n", "type": "int64"}], "outputs": [{"name": "w", "type": "int64"}]}`, "tm_process", endless),
			Job: stepsJob("", counting("in", "    process: {plugin: p, columns: {n: n}}\n")), Input: records(1), Message: noMore},
		{Name: "a loop in tm_trigger", Module: does(`"trigger": {"inputs": []}`, "tm_trigger", endless),
			Job: stepsJob("", counting("in", "    trigger: {plugin: p}\n")), Input: records(1), Message: noMore},
		{Name: "a loop in tm_pair", Module: does(`"pair": {"left": [], "right": [], "outputs": [{"name": "w", "type": "int64"}]}`, "tm_pair", endless),
			Job: stepsJob(oneSource("other", input, "{out_of_orderness: 0s}", false),
				"  s:\n    from: {join: {left: in, right: other, kind: interval, between: {lower: 0s, upper: 1h}}}\n    key: [k]\n    apply: {plugin: p}\n"), Input: records(1), Message: noMore},
		{Name: "a loop in tm_watermark", Module: does(`"watermark": {"inputs": []}`, "tm_watermark", endless),
			Job: strings.Replace(stepsJob("", counting("in", "")), "{out_of_orderness: 0s}", "{plugin: p}", 1), Input: records(1), Message: noMore},
		{Name: "a loop in tm_watermark_tick", Module: does(`"watermark": {"inputs": []}`, "tm_watermark_tick tm_watermark", endless),
			Job:     strings.NewReplacer("{out_of_orderness: 0s}", "{plugin: p}", "follow: false", "follow: true").Replace(stepsJob("", counting("in", ""))),
			Message: noMore},
		{Name: "a loop in tm_assign", Module: does(`"assigner": {"inputs": []}`, "tm_assign", endless),
			Job: strings.Replace(stepsJob("", counting("in", "")), "{tumbling: 1s}", "{plugin: p}", 1), Input: records(1), Message: noMore},
		// What an agenda cannot do single calls do: they answer, and the job goes on.
		{Name: "a loop in apply", Module: does(`"aggregate": {"inputs": [], "outputs": [{"name": "w", "type": "int64"}], "accumulator": {"width": 8, "schema": 1}, "apply": true}`,
			"tm_aggregate_apply tm_aggregate_create tm_aggregate_add tm_aggregate_merge tm_aggregate_result", endless),
			Job: stepsJob("", "  s:\n    from: in\n    key: [k]\n    window: {tumbling: 1s}\n    trigger: {count: 1}\n    aggregates: {w: {plugin: p}}\n"), Input: records(1)},

		// Calls and memory.
		odd("recursion without end", "stack overflow in forever", -9),
		of("a tree of calls without a loop", noMore, sum("func tm_aggregate_create", "func tree n:i32\n  $n if $n 1 i32.sub call tree $n 1 i32.sub call tree end\nfunc tm_aggregate_create",
			"$f i32.load 4 =n\n  $f $f i32.load 20", "60 call tree $f i32.load 4 =n\n  $f $f i32.load 20"), records(1), true),
		of("memory that grows without end", noMore, begin(add, "loop 1 memory.grow drop br 0 end"), records(1), false),
		of("all memory that there is, in 16 tasks", "", sum("memory 3", "memory 1024 1024"), strings.Repeat(records(1, 2), 2), true),
		of("all memory filled, again and again", noMore, sum("memory 3", "memory 1024", "func "+add+" f:i32 -> i32 | i:i32 n:i32 data:i32 group:i32 acc:i32 a:i32 v:i64\n",
			"func "+add+" f:i32 -> i32 | i:i32 n:i32 data:i32 group:i32 acc:i32 a:i32 v:i64\n  loop 0 0 67108864 memory.fill br 0 end\n"), records(1), false),
		of("a million lines of log", "", begin(add, "64 1024 i32.store 0 68 53 i32.store 0 loop 2 64 1 72 call fd_write drop $i 1 i32.add =i $i 1000000 i32.lt_u br_if 0 end 0 =i"), records(1), false),

		// Traps.
		odd("unreachable code", "plug-in p trapped: unreachable in tm_aggregate_add", -1),
		odd("a panic", "panic: value is -3", -3),
		odd("a read outside the memory", "out of bounds memory access in tm_aggregate_add", -11),
		of("a division by zero", "integer divide by zero in tm_aggregate_add", begin(add, "1 0 i32.div_u drop"), records(1), true),
		of("text outside of the memory at the start", "instantiate plug-in", sum("data 1024", "data 900000"), records(1), true),

		// Answers that are wrong.
		of("an arena outside of the memory", "ends outside the memory", sum("i64.const 0x0001_0000_0001_0000", "i64.const 0x0001_0000_7fff_0000"), records(1), true),
		of("an arena at an odd address", "not a multiple of 8", sum("i64.const 0x0001_0000_0001_0000", "i64.const 0x0001_0001_0001_0000"), records(1), false),
		of("an arena without room", "it must have at least", sum("i64.const 0x0001_0000_0001_0000", "i64.const 0x0001_0000_0000_0008"), records(1), false),
		odd("a status that does not exist", "answers status 9, which does not exist", -5),
		odd("a message outside of the output", "a message of 70000 bytes", -6),
		odd("a full output that has room", "OUTPUT_FULL", -7),
		odd("a frame that it cannot read", "cannot read the frame", -8),
		odd("a record that does not exist", "negative value", -10),
		of("pointers that are overwritten in the frame", "", begin(add, "$f -1 i32.store 24 $f -1 i32.store 12 $f -1 i32.store 36 0 return"), records(1), false),
		{Name: "a result that is all over the frame", Module: begin("tm_aggregate_result", "$f 0x7fffffff i32.store 56 2 return"),
			Job: SumJob("VERSION", input, "", ""), Input: records(1), Message: "out_used is 2147483647"},
	}
	bomb := func(name string, m module) Case {
		return Case{Name: name, Module: m, Job: SumJob("VERSION", input, "", ""), Input: records(1), Whatever: true, Bomb: true}
	}
	const most = 1_000_000 // bytes of a function, below 1 MiB
	cases = append(cases,
		bomb("49,900 functions", wider(same(49_900, []byte{0x0b})...)),
		bomb("7 MB of loops", wider(same(7, repeat(most/len(loop), nil, loop, nil))...)),
		bomb("7 MB of straight code", wider(same(7, repeat(most/len(constant), nil, constant, nil))...)),
		bomb("7 MB of tables of branches", wider(same(7, repeat(most/len(table), nil, table, nil))...)),
		bomb("7 MB of nothing", wider(same(7, repeat(most, nil, nop, nil))...)),
	)
	for i := range 40 { // some places all over the module, and a bit or all of them
		cases = append(cases, Case{Name: fmt.Sprintf("a byte that is wrong, %d", i), Module: damaged(7919*i, [...]byte{0x01, 0x80, 0xff, 0x10}[i%4]),
			Job: SumJob("VERSION", input, "", ""), Input: records(1, 2, 3), Whatever: true})
	}
	for i := range cases {
		if strings.Contains(cases[i].Name, "16 tasks") {
			cases[i].Job = SumJob("VERSION", input, "parallelism: 16\n", "")
		}
	}
	return cases
}

// counting is a step that counts, with a line more.
func counting(from, line string) string {
	return "  s:\n    from: " + from + "\n    key: [k]\n    window: {tumbling: 1s}\n    aggregates: {n: {function: count}}\n" + line
}

// stepsJob is a job with more sources beside the one of SumJob, and other steps; its results are those of step s.
func stepsJob(sources, steps string) string {
	return "version: 1\njob: harm\nplugins:\n  p: {ref: " + Plugin + "@VERSION}\n" + source("in", input, "{out_of_orderness: 0s}", false) + sources +
		"steps:\n" + steps + "sinks:\n  out: {from: s, file: {path: out/rows.jsonl}}\n"
}
