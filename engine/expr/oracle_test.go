package expr

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// generator writes random expressions of the types that they share with cel-go, with
// values at which there is something to get wrong.
type generator struct{ *rand.Rand }

func (g generator) one(options ...string) string { return options[g.IntN(len(options))] }

// fill replaces each letter in braces by an expression of that type.
func (g generator) fill(template string, depth int) string {
	for strings.Contains(template, "{") {
		at := strings.Index(template, "{")
		template = template[:at] + g.of(template[at+1], depth-1) + template[at+3:]
	}
	return template
}

func (g generator) of(kind byte, depth int) string {
	if depth <= 0 {
		switch kind {
		case 'i':
			return g.one("a", "b", "user.id", "0", "1", "-1", "3", "9223372036854775807", "-9223372036854775808")
		case 'f':
			return g.one("x", "y", "0.0", "1.0", "-2.5", "1e300")
		case 'b':
			return g.one("ok", "true", "false")
		case 's':
			return g.one("s", "''", "'12'", "'h\u00e9'", "'1.5'")
		default:
			return g.one("t", "timestamp('2018-01-31T23:59:59.999Z')", "timestamp('1969-12-31T23:59:59Z')")
		}
	}
	switch kind {
	case 'i':
		return g.fill(g.one("({i} + {i})", "({i} - {i})", "({i} * {i})", "({i} / {i})", "({i} % {i})", "-({i})", "size({s})", "int({f})", "int({s})", "int({t})",
			"({b} ? {i} : {i})", "{t}.getHours()", "{t}.getDayOfWeek('America/New_York')", "{t}.getMonth()", "({t} - {t}).getSeconds()", "({t} - {t}).getHours()"), depth)
	case 'f':
		return g.fill(g.one("({f} + {f})", "({f} - {f})", "({f} * {f})", "({f} / {f})", "-({f})", "double({i})", "double({s})", "({b} ? {f} : {f})"), depth)
	case 'b':
		return g.fill(g.one("({b} && {b})", "({b} || {b})", "!({b})", "({i} < {i})", "({i} <= {i})", "({f} > {f})", "({f} >= {f})", "({s} < {s})", "({i} == {i})", "({f} != {f})",
			"({s} == {s})", "({b} == {b})", "({b} < {b})", "({t} >= {t})", "({t} == {t})", "({i} in [0, 1, -1, 3])", "({s} in ['', '12'])", "({f} in [0.0, 1.0])", "{s}.contains({s})",
			"{s}.startsWith({s})", "{s}.endsWith({s})", "{s}.matches('^[0-9]*$')", "({b} ? {b} : {b})", "({t} - {t} < duration('1h'))"), depth)
	case 's':
		return g.fill(g.one("({s} + {s})", "string({i})", "string({b})", "string({t})", "string({f})", "({b} ? {s} : {s})"), depth)
	default:
		return g.fill(g.one("({t} + duration('36h'))", "({t} - duration('1500ms'))", "({b} ? {t} : {t})"), depth)
	}
}

func (g generator) record() record {
	ints := []int64{0, 1, -1, 2, 7, -3, math.MaxInt64, math.MinInt64, 1 << 40}
	floats := []float64{0, math.Copysign(0, -1), 1, -2.5, 0.1, 1e300, 9.2e18}
	texts := []string{"", "12", "-7", "1.5", "héé", "x"}
	times := []stream.Time{0, -1, 1517441400250, 1582934400000}
	pick := func() int64 { return ints[g.IntN(len(ints))] }
	return record{pick(), pick(), floats[g.IntN(len(floats))], floats[g.IntN(len(floats))], g.IntN(2) == 0,
		texts[g.IntN(len(texts))], times[g.IntN(len(times))], pick()}
}

// Where cel-go's interpreter has an answer, ours is the same, and where it has an error
// there is a refusal; so for random expressions over records without nulls. One
// difference is wanted: a float that becomes infinite is refused, not carried on.
func TestAnswersAreThoseOfCEL(t *testing.T) {
	lang, err := newLanguage(schema)
	if err != nil {
		t.Fatal(err)
	}
	answers, refusals := 0, 0
	for seed := uint64(1); seed <= 1500; seed++ {
		g := generator{rand.New(rand.NewPCG(seed, 5))}
		kind := "ifbst"[g.IntN(5)]
		text1 := g.of(kind, 1+g.IntN(3))
		step, err := New(Config{Schema: schema, Derive: []Derived{{"v", text1}}, Project: []Projected{{"v", "v"}}})
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, text1, err)
		}
		parsed, issues := lang.env.Compile(text1)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		program, err := lang.env.Program(parsed)
		if err != nil {
			t.Fatal(err)
		}
		records := make([]record, 20)
		for i := range records {
			records[i] = g.record()
		}
		out := run(t, step, batchOf(records...), all(len(records)))
		got := make([]string, len(records))
		for _, f := range out.Refused {
			got[f.Op] = f.Message
		}
		for i, of := range out.Of {
			got[of] = text(&out.Columns, 0, i)
		}
		for i, r := range records {
			want := interpret(t, program, r)
			refused := strings.HasPrefix(got[i], "v: ")
			switch {
			case want == "error" && refused, strings.HasSuffix(got[i], "infinite, or is not a number"), strings.HasSuffix(got[i], "division by zero") && strings.Contains(text1, "/"):
				refusals++
			case want == got[i]:
				answers++
			default:
				t.Errorf("seed %d: %s of %v is %s, in CEL %s", seed, text1, r, got[i], want)
			}
		}
	}
	if answers < 15_000 || refusals < 2000 {
		t.Errorf("only %d answers and %d refusals", answers, refusals)
	}
}

// interpret asks cel-go, and writes the answer as text does.
func interpret(t *testing.T, p cel.Program, r record) string {
	t.Helper()
	vars := map[string]any{}
	for i, f := range schema {
		vars[f.Name] = r[i]
		if f.Kind == stream.Timestamp {
			vars[f.Name] = time.UnixMilli(int64(r[i].(stream.Time))).UTC()
		}
	}
	v, _, err := p.Eval(vars)
	if err != nil {
		return "error"
	}
	switch v := v.(type) {
	case types.Timestamp:
		return fmt.Sprint(v.UnixMilli())
	case types.Double:
		return fmt.Sprint(float64(v))
	case types.String:
		return string(v)
	default:
		return fmt.Sprint(v.Value())
	}
}

var benchmarked = "x * 1.2 > 100.0 && ok && s.startsWith('sh') || a % 10 == 3"

func benchRecords(n int) []record {
	r := rand.New(rand.NewPCG(1, 1))
	records := make([]record, n)
	for i := range records {
		records[i] = record{int64(r.IntN(1000)), int64(1), 200 * r.Float64(), 1.0, r.IntN(2) == 0, []string{"shop", "mall"}[r.IntN(2)], stream.Time(0), int64(1)}
	}
	return records
}

// Nanoseconds a record for a filter of seven operators and a derived column.
func BenchmarkStep(b *testing.B) {
	s, err := New(Config{Schema: schema, Filter: benchmarked, Derive: []Derived{{"v", "x * double(a)"}}, Project: []Projected{{"v", "v"}, {"s", "s"}}})
	if err != nil {
		b.Fatal(err)
	}
	batch := batchOf(benchRecords(chunkRows)...)
	rows := udf.Rows{Batch: batch, Sel: all(chunkRows), Cols: []int{2, 4, 5, 0}}
	for i, name := range []string{"x", "ok", "s", "a"} {
		if s.info.Inputs[i].Name != name {
			b.Fatalf("input %d is %s", i, s.info.Inputs[i].Name)
		}
	}
	var out udf.Mapped
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if err := s.Apply(&rows, &out); err != nil {
			b.Fatal(err)
		}
		n += chunkRows
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/record")
}

// The same filter by cel-go's interpreter, values boxed beforehand.
func BenchmarkInterpreter(b *testing.B) {
	lang, err := newLanguage(schema)
	if err != nil {
		b.Fatal(err)
	}
	parsed, issues := lang.env.Compile(benchmarked)
	if issues.Err() != nil {
		b.Fatal(issues.Err())
	}
	p, err := lang.env.Program(parsed, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		b.Fatal(err)
	}
	var vars []map[string]any
	for _, r := range benchRecords(chunkRows) {
		vars = append(vars, map[string]any{"x": r[2], "ok": r[4], "s": r[5], "a": r[0]})
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for _, v := range vars {
			if _, _, err := p.Eval(v); err != nil {
				b.Fatal(err)
			}
		}
		n += len(vars)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/record")
}

// What loading a job costs.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := New(Config{Schema: schema, Filter: benchmarked}); err != nil {
			b.Fatal(err)
		}
	}
}
