package conformance

import (
	"strings"
	"testing"

	"tidemark/internal/wasmtest"
)

// The standard plug-in stats, written by hand, conforms; with a fault in it it does not, and the
// kit says why.
func TestTheKitBitesInAnAggregate(t *testing.T) {
	conforms(t, "stats", wasmtest.Guest(t, "stats"))
	for _, c := range []struct {
		fault string
		edits []string
		where string // part of Where of a failure
		what  string // part of What
		got   string // part of Got
	}{
		{"another manifest", []string{`"order_insensitive": true`, `"order_insensitive": false`}, "stats/manifest.json", "the manifest", `"OrderInsensitive": false`},
		{"a missing export", []string{"func tm_aggregate_merge", "func merge"}, "the module", "upload", "does not export the function tm_aggregate_merge (i32) -> i32"},
		{"a wrong number", []string{"$a $a f64.load 24 $v f64.max f64.store 24", "$a $v f64.store 24"}, "values.txt:", "values of two groups", "accumulator"},
		{"the two zeros differ", []string{"f64.const 0 f64.add =v", "=v"}, "values.txt:", "the two zeros are one", "0080"},
		{"op is never stored", []string{"    $f $i i32.store 48\n    $data", "    $data"}, "values.txt:", "tm_aggregate_add", "op is -1 after 4 items, it must be 3"},
		{"op of a refusal is the next record", []string{"$f 12 i32.store 56\n", "$f 12 i32.store 56 $f $i 1 i32.add i32.store 48\n"}, "values.txt:", "NaN is refused", "REFUSED op=3"},
		{"another message", []string{`"value is NaN"`, `"value is nan"`}, "values.txt:", "NaN is refused", `"value is nan"`},
		{"a message that is not UTF-8", []string{`"value is NaN"`, `"value is Na\xff"`}, "values.txt:", "NaN is refused", "not UTF-8"},
		{"a message beyond 4,096 bytes", []string{"$f 12 i32.store 56", "$f 4097 i32.store 56"}, "values.txt:", "NaN is refused", "a message of 4097 bytes"},
		{"a status that does not exist", []string{"      1 return\n", "      7 return\n"}, "values.txt:", "NaN is refused", "status 7, which does not exist"},
		{"a trap in place of a refusal", []string{"      1 return\n", "      unreachable\n"}, "values.txt:", "NaN is refused", "TRAP op=2"},
		{"the records are changed", []string{"$f $i i32.store 48\n    $data", "$f $i i32.store 48 $data i64.const 0 i64.store 0\n    $data"}, "values.txt:", "values of two groups", "which is not the guest's"},
		{"the header is changed", []string{"$f $i i32.store 48\n    $data", "$f $i i32.store 48 $f 0 i32.store 4\n    $data"}, "values.txt:", "as written", "writes to byte 4 of the frame"},
		{"a write behind the frame", []string{"$f $i i32.store 48\n    $data", "$f $i i32.store 48 $f $f i32.load 0 i32.add 0 i32.store 0\n    $data"}, "values.txt:", "as written", "which is not the guest's"},
		{"merging changes both", []string{"$a $b 32 memory.copy", "$a $b 32 memory.copy $b i64.const 0 i64.store 0"}, "values.txt:", "merging, also with nothing", "which is not the guest's"},
		{"OUTPUT_FULL where nothing is answered", []string{"  $f $f i32.load 28 call accs i32.eqz if 3 return end\n", "  2 return\n"}, "values.txt:", "merging", "OUTPUT_FULL, though nothing is answered"},
		{"create relies on zeros", []string{"0 $f i32.load 8 32 i32.mul memory.fill", "0 0 memory.fill"}, "values.txt:", "fresh accumulators", "a5a5a5a5"},
		{"it remembers calls", []string{"  0 =i\n", "  global.get calls 1 i32.add global.set calls\n  0 =i\n", "$a $a i64.load 0 i64.const 1 i64.add i64.store 0\n    $a", "$a $a i64.load 0 global.get calls i64.extend_i32_u i64.add i64.store 0\n    $a"}, "values.txt:", "each item in a frame of its own", "accumulator"},
		{"it cannot do without the calls before", []string{"  0 =i\n", "  global.get calls 1 i32.add global.set calls\n  0 =i\n", "$v $v f64.ne if\n", "$v $v f64.ne global.get calls 1 i32.gt_u i32.or if\n"}, "values.txt:", "each item in a frame of its own", "REFUSED op=1"},
		{"one record is too many", []string{"$f i32.load 4 =n\n", "$f i32.load 4 =n $n 1000 i32.gt_u if unreachable end\n"}, "values.txt:", "which fills the arena", "TRAP"},
		{"a single record is too few", []string{"$f i32.load 4 =n\n", "$f i32.load 4 =n $n 1 i32.eq if unreachable end\n"}, "values.txt:", "each item in a frame of its own", "TRAP"},
		{"it believes the order of areas", []string{"$f $f $f i32.load 12 i32.add i32.load 12 i32.add =data", "$f $f i32.load 12 i32.add 32 i32.add =data"}, "values.txt:", "areas in the opposite order", ""},
		{"null rows have a value", []string{"    $a i64.load 0 i64.eqz i32.eqz if\n      $f $d 64", "    1 if\n      $f $d 64"}, "values.txt:", "values of two groups", "min=0 max=0 mean=NaN"},
		{"it believes sizes", []string{"  $f i32.load 0 262144 i32.gt_u if 0 return end\n", ""}, "a frame that cannot be read", "a size beyond the arena", "status 0"},
		{"it believes groups", []string{"$f i32.load 8 i32.ge_u if 3 return end", "-1 i32.ge_u if 3 return end"}, "a frame that cannot be read", "a record of a group that there is not", "status 0"},
		{"it sees a group that there is not too late", []string{"    $group $i 4 i32.mul i32.add i32.load 0 $f i32.load 8 i32.ge_u if 3 return end\n", "", "    $a i64.load 0 i64.eqz if\n      $a $v f64.store 16\n", "    $group $i 4 i32.mul i32.add i32.load 0 $f i32.load 8 i32.ge_u if $f $f i32.load 24 i32.add i64.const 1 i64.store 0 3 return end\n    $a i64.load 0 i64.eqz if\n      $a $v f64.store 16\n"}, "a frame that cannot be read", "a record of a group that there is not", "another byte"},
		{"it believes kinds", []string{"  $f $at i32.add i32.load 0 $kind i32.ne if 0 return end\n", ""}, "a frame that cannot be read", "column 0 of another kind", "status 0"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			finds(t, check(t, "stats", wasmtest.Guest(t, "stats", c.edits...)), c.where, c.what, c.got)
		})
	}
}

// finds fails the test unless one of the failures is as it is said.
func finds(t *testing.T, r *Report, where, what, got string) {
	t.Helper()
	for _, f := range r.Failures {
		if strings.Contains(f.Where, where) && strings.Contains(f.What, what) && strings.Contains(f.Got, got) {
			return
		}
	}
	t.Errorf("none of %d failures is in %q, %q, with %q", len(r.Failures), where, what, got)
	for _, f := range r.Failures[:min(2, len(r.Failures))] {
		t.Logf("%s: %s\nwant %s\ngot  %s", f.Where, f.What, f.Want, f.Got)
	}
}

// The same of a plug-in that answers entries.
func TestTheKitBitesInEntries(t *testing.T) {
	conforms(t, "unpaid", wasmtest.Guest(t, "unpaid"))
	for _, c := range []struct {
		fault string
		edits []string
		what  string
		got   string
	}{
		{"a row too many", []string{"1088 f64.load 0 f64.le i32.eqz if", "1088 f64.load 0 f64.lt i32.eqz if"}, "what a payment leaves open", "1: row open=0"},
		{"a value in place of a null", []string{"call timed i32.and if", "call timed i32.or if"}, "what a payment leaves open", "waited_ms="},
		{"the item of another one", []string{"$o $i i32.store 0\n", "$o $i 1 i32.add i32.store 0\n"}, "what a payment leaves open", "only 6 items are done"},
		{"items out of order", []string{"$o $i i32.store 0\n", "$o 5 $i i32.sub i32.store 0\n"}, "what a payment leaves open", "stands behind one of item 5"},
		{"an output that there is not", []string{"$o 0 i32.store 4\n", "$o 1 i32.store 4\n"}, "what a payment leaves open", "the manifest has no such thing"},
		{"a state of a function that keeps none", []string{"$o 0 i32.store 4\n", "$o -2147483648 i32.store 4\n"}, "what a payment leaves open", "the manifest has no such thing"},
		{"a body that is too short", []string{"$o 24 i32.store 8\n", "$o 16 i32.store 8\n"}, "what a payment leaves open", "a row of 2 columns has 16 bytes"},
		{"a body beyond out_used", []string{"$o 24 i32.store 8\n", "$o 999999 i32.store 8\n"}, "what a payment leaves open", "ends outside of out_used"},
		{"a head that is not all written", []string{"      $o 0 i32.store 12\n", ""}, "what a payment leaves open", "the fourth word of the head is not 0"},
		{"out_used beyond the output area", []string{"$f $used i32.store 56\n", "$f 999999 i32.store 56\n"}, "what a payment leaves open", "out_used is 999999"},
		{"out_used is forgotten", []string{"      $f $used i32.store 56\n", ""}, "what a payment leaves open", "nothing more"},
		{"no bitmap is read", []string{"  $d i32.load 4 1 i32.and i32.eqz if 1 return end\n", "  1 return\n"}, "what a payment leaves open", "waited_ms="},
		{"a bitmap is taken for granted", []string{"  $d i32.load 4 1 i32.and i32.eqz if 1 return end\n", ""}, "", "row open="},
		{"the end of the output area is not seen", []string{"        $f $i i32.store 52\n        2 return\n", "        br 3\n"}, "an output area of 4,096 bytes", "after 250 items, it must be 249"},
		{"done is forgotten", []string{"        $f $i i32.store 52\n", ""}, "an output area of 4,096 bytes", "only 0 items are done"},
		{"done is one too many", []string{"        $f $i i32.store 52\n", "        $f $i 1 i32.add i32.store 52\n"}, "an output area of 4,096 bytes", ""},
		{"what did not fit is answered in part", []string{"        $f $i i32.store 52\n", "        $f $i i32.store 52 $f $used 16 i32.add i32.store 56\n"}, "an output area of", "the entry at"},
		{"a write behind the output area", []string{"40 i32.lt_u if\n", "8 i32.lt_u if\n"}, "an output area of 4,096 bytes", "which is not the guest's"},
		{"OUTPUT_FULL with all done", []string{"  end end\n  0\n", "  end end\n  $f $i i32.store 52 2\n"}, "what a payment leaves open", "OUTPUT_FULL with done = 6 of 6"},
		{"OUTPUT_FULL for nothing", []string{"40 i32.lt_u if\n", "1000000 i32.lt_u if\n"}, "what a payment leaves open", "nothing done, and all of the arena free"},
		{"the argument is not read", []string{"global.set tolerance", "drop"}, "a tolerance", "0: row open=1"},
		{"the argument is kept in the arena", []string{"1088 global.get tolerance i64.store 0\n", "1088 $f 96 i32.add i32.const 32 i32.add i64.load 0 i64.store 0\n"}, "a tolerance", "row open="},
		{"a pair is believed", []string{"  $f $b i32.load 0 $f i32.load 4 16 call inside i32.eqz if 3 return end\n", ""}, "more items than the frame holds", "TRAP out of bounds"},
		{"a list is believed", []string{"  $f $b 36 i32.add call list i32.eqz if 3 return end\n", ""}, "list 1: more rows than the frame holds", "status 0"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			finds(t, check(t, "unpaid", wasmtest.Guest(t, "unpaid", c.edits...)), "", c.what, c.got)
		})
	}
}
