package job_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/job"
	"tidemark/internal/fault"
)

// changing has an operator of each kind whose state may or may not be taken over.
const changing = `version: 1
job: changing
max_parallelism: 64
plugins:
  keeps: {file: keeps_1_a.wasm}
  urgent: {file: urgent.wasm}
  grades: {file: grades.wasm}
sources:
  orders:
    file: {path: data/a.jsonl}
    format: json
    schema: {shop: string, price: float64, urgent: bool, id: int64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 5s}
  others:
    file: {path: data/b.jsonl}
    format: json
    schema: {shop: string, id: int64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 5s}
steps:
  dear:
    from: orders
    filter: price > 0
    derive: {twice: price + price}
  per_shop:
    from: dear
    key: [shop]
    window: {tumbling: 10s, allowed_lateness: 1s}
    trigger: {count: 10}
    aggregates: {n: {function: count}, sum: {function: sum, columns: {value: twice}}, kept: {plugin: keeps}}
  graded:
    from: orders
    key: [shop]
    window: {tumbling: 10s}
    trigger: {plugin: urgent, columns: {urgent: urgent}}
    aggregates: {n: {function: count}}
    process: {plugin: grades, columns: {count: n, who: shop}}
  paid:
    from: {join: {left: orders, right: others, kind: interval, between: {lower: 0s, upper: 1m}}}
    key: [id]
sinks:
  out: {from: per_shop, file: {path: out/a.jsonl}}
  more: {from: graded, stdout: {}}
  paid_out: {from: paid, file: {path: out/paid.jsonl}}
`

// operators describes a job after some replacements, given in pairs.
func operators(t *testing.T, replace ...string) []job.Operator {
	t.Helper()
	src := changing
	for i := 0; i+1 < len(replace); i += 2 {
		if !strings.Contains(src, replace[i]) {
			t.Fatalf("%q is not in the job", replace[i])
		}
		src = strings.Replace(src, replace[i], replace[i+1], 1)
	}
	g, err := job.Load([]byte(src), world())
	if err != nil {
		t.Fatal(err)
	}
	return job.Describe(g, false, func(s *job.Step) string { return "of " + s.Window.Kind })
}

// wholeFile is the row of a sink with one file when the job begins to write one an epoch.
func wholeFile(sink, file string) string {
	return "sink " + sink + ": incompatible: whole_file was /jobs/out/" + file + ".jsonl, is nothing; files was nothing, is /jobs/out/" + file +
		".jsonl | the rows up to now lie in the unfinished old file, and would never be published"
}

// Each row changes the job in one way. want is what becomes of each operator that is not
// the same, with what has changed and, behind a bar, why its state does not fit.
func TestWhatAChangedJobMeansForItsState(t *testing.T) {
	for _, row := range []struct {
		name    string
		replace []string
		want    []string
	}{
		{"nothing", nil, nil},
		{"the order of sections", []string{"  more: {from: graded, stdout: {}}\n", "", "sinks:\n", "sinks:\n  more: {from: graded, stdout: {}}\n"}, nil},
		{"how fast it runs", []string{"max_parallelism: 64", "max_parallelism: 64\nparallelism: 4\nsettings: {batch: {rows: 7}, queue: 3, checkpoint: {}, state_budget: 2GiB}"}, nil},
		{"its name", []string{"job: changing", "job: changed"},
			[]string{"job : incompatible: name was changing, is changed | it is a part of the id of each result"}},
		{"key groups", []string{"64", "65"},
			[]string{"job : incompatible: max_parallelism was 64, is 65 | state lies in so many key groups, and a job keeps their number for life"}},
		{"lateness", []string{"allowed_lateness: 1s", "allowed_lateness: 1m"},
			[]string{"step per_shop: compatible: allowed_lateness was 1s, is 1m"}},
		{"what a trigger is set to", []string{"count: 10", "count: 11"},
			[]string{"step per_shop: compatible: trigger.args was 10, is 11"}},
		{"another trigger", []string{"    trigger: {count: 10}\n", ""},
			[]string{"step per_shop: incompatible: trigger was count, is event_time; trigger.args was 10, is nothing | what is kept of each window is another trigger's"}},
		{"a trigger that was the default one", []string{"trigger: {count: 10}", "trigger: {purging: {count: 10}}"},
			[]string{"step per_shop: incompatible: trigger was count, is purging of count | what is kept of each window is another trigger's"}},
		{"a trigger's column", []string{"id: int64}\n    time", "id: int64, more: bool}\n    time", "{urgent: urgent}", "{urgent: more}"}, []string{
			`source orders: incompatible: schema was shop string at ["shop"], price float64 at ["price"], urgent bool at ["urgent"], id int64 at ["id"], is shop string at ["shop"], price float64 at ["price"], urgent bool at ["urgent"], id int64 at ["id"], more bool at ["more"] | records that were read and not sent yet have the old fields`,
			"step graded: incompatible: reads was shop string, urgent bool, is more bool, shop string; trigger.args was {urgent: urgent} (wait_ms: 1000), is {urgent: more} (wait_ms: 1000) | rows under way and what is kept of records have the old fields",
			"step paid: incompatible: reads was left.id int64, left.price float64, left.shop string, left.urgent bool, right.id int64, right.shop string, is left.id int64, left.more bool, left.price float64, left.shop string, left.urgent bool, right.id int64, right.shop string; join was interval of [\"id\"] and [\"id\"], keeps [\"shop\" \"price\" \"urgent\" \"id\"] and [\"shop\" \"id\"], from 0s (exclusive false) to 1m (exclusive false), is interval of [\"id\"] and [\"id\"], keeps [\"shop\" \"price\" \"urgent\" \"id\" \"more\"] and [\"shop\" \"id\"], from 0s (exclusive false) to 1m (exclusive false) | rows under way and what is kept of records have the old fields; records that wait for a partner were kept for another join",
		}},
		{"larger windows", []string{"tumbling: 10s, a", "tumbling: 20s, a"},
			[]string{"step per_shop: incompatible: window was tumbling 10s, offset 0s, is tumbling 20s, offset 0s | open windows have other bounds"}},
		{"another key", []string{"    from: dear\n    key: [shop]", "    from: dear\n    key: [id]"}, []string{
			"step per_shop: incompatible: key was shop, is id; reads was shop string, twice float64, is id int64, twice float64 | windows lie under the old keys; rows under way and what is kept of records have the old fields",
		}},
		{"another function", []string{"function: sum", "function: max"},
			[]string{"step per_shop: incompatible: aggregate 2 was sum {value: twice}, is max {value: twice} | open windows hold what another function made of their records"}},
		{"a further function", []string{"kept: {plugin: keeps}", "kept: {plugin: keeps}, top: {function: max, columns: {value: twice}}"}, []string{
			"step per_shop: incompatible: aggregates was n, sum, kept, is n, sum, kept, top; aggregate 4 was nothing, is max {value: twice} | open windows hold what another function made of their records",
		}},
		{"what a result is called", []string{"{n: {function: count}, sum", "{orders: {function: count}, sum"},
			[]string{"step per_shop: compatible: aggregates was n, sum, kept, is orders, sum, kept"}},
		{"a field of another type under the same name", []string{"twice: price + price", "twice: id"}, []string{
			"step dear: compatible: derive was twice = price + price, is twice = id",
			"step per_shop: incompatible: reads was shop string, twice float64, is shop string, twice int64 | rows under way and what is kept of records have the old fields",
		}},
		{"an expression of the same type", []string{"price + price", "price + 1"},
			[]string{"step dear: compatible: derive was twice = price + price, is twice = price + 1"}},
		{"a filter", []string{"    filter: price > 0\n", ""}, []string{"step dear: compatible: filter was price > 0, is nothing"}},
		{"a module with the same layout", []string{"keeps_1_a", "keeps_1_b"},
			[]string{"step per_shop: compatible: aggregate 3.module was a, is b"}},
		{"a module that converts from the old layout", []string{"keeps_1_a", "keeps_3_d"},
			[]string{"step per_shop: compatible: aggregate 3.state was schema 1, is schema 3; aggregate 3.module was a, is d"}},
		{"a module with another layout", []string{"keeps_1_a", "keeps_2_c"}, []string{
			"step per_shop: incompatible: aggregate 3.state was schema 1, is schema 2; aggregate 3.module was a, is c | what the plug-in keeps has another layout, and the new module does not say that it converts from that schema",
		}},
		{"what a process function is set to", []string{"who: shop}", "who: shop}, args: {limit: 4}, state_ttl: 1d"},
			[]string{"step graded: compatible: process.args was (limit: 3), is (limit: 4); state_ttl was nothing, is 24h"}},
		{"a process function less", []string{"    process: {plugin: grades, columns: {count: n, who: shop}}\n", "", "  grades: {file: grades.wasm}\n", ""}, []string{
			"step graded: incompatible: process was shown firings, is nothing; process.columns was {count: n, who: shop}, is nothing; process.args was (limit: 3), is nothing | what it keeps, and what it is shown, is another function's",
			"sink graded.quiet: dropped",
		}},
		{"wider bounds of a join", []string{"upper: 1m", "upper: 2m"}, []string{
			`step paid: incompatible: join was interval of ["id"] and ["id"], keeps ["shop" "price" "urgent" "id"] and ["shop" "id"], from 0s (exclusive false) to 1m (exclusive false), is interval of ["id"] and ["id"], keeps ["shop" "price" "urgent" "id"] and ["shop" "id"], from 0s (exclusive false) to 2m (exclusive false) | records that wait for a partner were kept for another join`,
		}},
		{"a watermark that is further behind", []string{"watermark: {out_of_orderness: 5s}\n  others", "watermark: {out_of_orderness: 9s}\n  others"},
			[]string{"source orders: compatible: watermark.args was 5s, is 9s"}},
		{"another watermark", []string{"watermark: {out_of_orderness: 5s}\n  others", "watermark: {ascending: true}\n  others"}, []string{
			"source orders: incompatible: watermark was bounded, is ascending; watermark.args was 5s, is nothing | what its watermark generator keeps is another one's",
		}},
		{"other files", []string{"path: data/a.jsonl", "path: data/*.jsonl"}, []string{"source orders: compatible: file was data/a.jsonl, is data/*.jsonl"}},
		{"an input that is waited on", []string{"path: data/b.jsonl", "path: data/b.jsonl, follow: true"}, []string{
			"job : incompatible: order was by place, is by arrival | rows under way are kept in the order in which they are taken: by place if all inputs are bounded and no time goes by the clock, else by arrival",
			"source others: incompatible: follow was false, is true; emit was record, is 200ms; idle was nothing, is counted down; idle_timeout was nothing, is 30s, then hold | a file that is waited on is kept in another way; idleness is counted down in one and not in the other",
			wholeFile("out", "a"),
			wholeFile("paid_out", "paid"), wholeFile("per_shop.late", "per_shop.late"), wholeFile("graded.late", "graded.late"), wholeFile("graded.quiet", "graded.quiet"),
			wholeFile("paid.late", "paid.late"), wholeFile("orders.bad", "orders.bad"), wholeFile("others.bad", "others.bad"),
		}},
		{"another result file", []string{"out/a.jsonl", "out/b.jsonl"}, []string{
			"sink out: incompatible: whole_file was /jobs/out/a.jsonl, is /jobs/out/b.jsonl | the rows up to now lie in the unfinished old file, and would never be published",
		}},
		{"a sink of standard output", []string{"  more: {from: graded, stdout: {}}", "  more: {from: graded, stdout: {}, time_format: ms}"}, nil},
		{"a new step", []string{"sinks:", "  fresh: {from: orders, window: {tumbling: 1s}, aggregates: {n: {function: count}}}\nsinks:\n  fresh_out: {from: fresh, stdout: {}}"},
			[]string{"step fresh: added", "sink fresh.late: added"}},
		{"a step under another name", []string{"  paid:\n", "  bought:\n", "from: paid,", "from: bought,"},
			[]string{"step paid: dropped", "sink paid_out: incompatible: port was paid, is bought | the files hold rows of another output", "sink paid.late: dropped", "step bought: added", "sink bought.late: added"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for _, c := range job.Compare(operators(t), operators(t, row.replace...)) {
				text := strings.TrimSpace(c.Kind+" "+c.ID) + ": " + string(c.Verdict)
				if c.Kind == job.JobOperator {
					text = "job : " + string(c.Verdict)
				}
				if len(c.Differences) > 0 {
					text += ": " + strings.Join(c.Differences, "; ")
				}
				if len(c.Why) > 0 {
					text += " | " + strings.Join(c.Why, "; ")
				}
				if c.Verdict != job.Same {
					got = append(got, text)
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(row.want, "\n"))
			}
			same := job.Digest(operators(t)) == job.Digest(operators(t, row.replace...))
			if same != (len(row.want) == 0) {
				t.Errorf("the same job: %t", same)
			}
		})
	}
}

// All that a description can hold is judged by a rule, and survives the way through a
// checkpoint.
func TestDescriptionsOfAllJobs(t *testing.T) {
	names, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d files in testdata/good: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".yaml"), func(t *testing.T) {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			o := world()
			directives(string(src), &o)
			g, err := job.Load(src, o)
			if err != nil {
				t.Fatal(err)
			}
			now := job.Describe(g, true, nil)
			var stored, empty []job.Operator
			for _, o := range now {
				back, err := job.ParseOperator(o.ID, o.Kind, o.Text())
				if err != nil {
					t.Fatal(err)
				}
				stored = append(stored, back)
				empty = append(empty, job.Operator{ID: o.ID, Kind: o.Kind})
			}
			if job.Digest(stored) != job.Digest(now) {
				t.Error("the digest is another one after a checkpoint")
			}
			for _, c := range job.Compare(stored, now) {
				if c.Verdict != job.Same {
					t.Errorf("%+v", c)
				}
			}
			for _, c := range job.Compare(now, empty) {
				if len(c.Differences) == 0 || slices.Contains(c.Why, "this version does not know what it means") {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

func TestADamagedDescription(t *testing.T) {
	if _, err := job.ParseOperator("a", job.StepOperator, `{"name":`); !errors.Is(err, fault.ErrCorrupt) {
		t.Error(err)
	}
	// A later version may say more than this one knows: nobody can tell what it means.
	later, err := job.ParseOperator("a", job.StepOperator, `[{"name": "colour", "value": "red"}]`)
	if err != nil {
		t.Fatal(err)
	}
	got := job.Compare([]job.Operator{later}, []job.Operator{{ID: "a", Kind: job.StepOperator}})
	if len(got) != 1 || got[0].Verdict != job.Incompatible {
		t.Errorf("%+v", got)
	}
}

func TestTakeover(t *testing.T) {
	renamed := []string{"  paid:\n", "  bought:\n", "from: paid,", "from: bought,", "function: sum", "function: max"}
	port := "the state of sink paid_out cannot be taken over: port was paid, is bought; the files hold rows of another output. Put it back, or say --drop-state paid_out, and it begins empty"
	sum := "the state of step per_shop cannot be taken over: aggregate 2 was sum {value: twice}, is max {value: twice}; open windows hold what another function made of their records. Put it back, or say --drop-state per_shop, and it begins empty"
	gone := "step paid is not in the job any more, and its state would be lost: put it back, or say --drop-state paid"
	for _, row := range []struct {
		name    string
		replace []string
		drop    []string
		want    []string
	}{
		{"nothing has changed", nil, nil, nil},
		{"what is compatible needs no word", []string{"count: 10", "count: 11"}, nil, nil},
		{"state that is given up although it fits", nil, []string{"per_shop"}, nil},
		{"all that stands in the way is told", renamed, nil, []string{sum, gone, port}},
		{"a word for some of it", renamed, []string{"paid", "per_shop"}, []string{port}},
		{"a word for all of it", renamed, []string{"paid", "per_shop", "paid_out"}, nil},
		{"an output without a sink by its own name", renamed, []string{"paid", "per_shop", "paid_out", "paid.late"}, nil},
		{"the job as a whole cannot be dropped", []string{"64", "65"}, []string{""}, []string{
			"--drop-state : the checkpoint has no state of an operator of this name; known: orders, others, dear, per_shop, graded, paid, out, paid_out, per_shop.late, graded.late, graded.quiet, paid.late and 2 more",
			"the job cannot go on from it: max_parallelism was 64, is 65; state lies in so many key groups, and a job keeps their number for life. Put it back, or start anew with --fresh",
		}},
		{"a misspelt name", nil, []string{"per_shp"}, []string{"--drop-state per_shp: the checkpoint has no state of an operator of this name; did you mean per_shop?"}},
		{"an operator that is new", []string{"  paid:\n", "  bought:\n", "from: paid,", "from: bought,"}, []string{"paid", "paid_out", "bought"},
			[]string{"--drop-state bought: the checkpoint has no state of an operator of this name; known: orders, others, dear, per_shop, graded, paid, out, paid_out, per_shop.late, graded.late, graded.quiet, paid.late and 2 more"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := job.Takeover(operators(t), operators(t, row.replace...), row.drop)
			var got []string
			if err != nil {
				got = strings.Split(err.Error(), "\n")
				if !errors.Is(err, fault.ErrUser) {
					t.Errorf("%v is not of class ErrUser", err)
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(row.want, "\n"))
			}
		})
	}
}
