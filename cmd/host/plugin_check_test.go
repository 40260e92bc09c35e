package main_test

import (
	"strings"
	"testing"

	"tidemark/internal/wasmtest"
)

// lucky makes the guest sum keep the laws: as it stands, it traps in some merges.
var lucky = []string{"$b i64.load 8 i64.const 13 i64.eq if unreachable end ; unlucky in merges", ""}

const (
	sumAdds   = "$a $a i64.load 0 $v global.get scale i64.mul i64.add i64.store 0"
	sumMerges = "$a $a i64.load 0 $b i64.load 0 i64.add i64.store 0"
)

func TestPluginCheckFindsWhatIsBroken(t *testing.T) {
	for _, c := range []struct {
		what  string
		edits []string
		args  []string
		code  int
		// laws are those that are broken. Others may be for the same reason.
		laws []string
		says string
	}{
		{"a sum", nil, nil, 0, nil, "merge     merging parts equals one pass: holds ("},
		{"a sum with a function that is too large for a JVM, which is a warning", []string{"memory 3", "memory 3\nfunc big\n " + strings.Repeat("block end ", 1_365) + "\n"}, nil, 0, nil,
			"\nwarning large     1 function of more than 4,096 bytes of code, which a JVM does not compile but interprets; the largest has 4,097 bytes: function 2, big\n"},
		{"a merge that forgets", []string{sumMerges, ""}, nil, 1, []string{"merge", "identity"}, "record {value: 1}\n"},
		{"the last value, which is said not to depend on the order",
			[]string{sumAdds, "$a $v global.get scale i64.mul i64.store 0", sumMerges, "$b i64.load 8 i64.eqz i32.eqz if $a $b i64.load 0 i64.store 0 end"},
			nil, 1, []string{"order"}, "added in reverse\n                    record {value: "},
		{"a counter that remembers between calls",
			[]string{"memory 3", "memory 3\nglobal adds i64 0", "$f i32.load 4 =n\n", "$f i32.load 4 =n\n  global.get adds i64.const 1 i64.add global.set adds\n", sumAdds, "$a $a i64.load 0 $v global.get scale i64.mul global.get adds i64.add i64.add i64.store 0"},
			nil, 1, []string{"amnesia"}, "a fresh instance for every call: "},
		{"a result that changes the accumulator",
			[]string{"$a 16 i32.add =a\n    $i 1 i32.add =i", "$a $a i64.load 8 i64.const 1 i64.add i64.store 8\n    $a 16 i32.add =a\n    $i 1 i32.add =i"},
			nil, 1, []string{"result"}, "no records at all\n                    want   {sum: null, count: 0} of the accumulator 00000000000000000000000000000000\n                    got    the accumulator was changed by that\n"},
		{"a fresh accumulator that is not neutral",
			[]string{"$f $f i32.load 24 i32.add 0 $f i32.load 8 16 i32.mul memory.fill", "$f $f i32.load 24 i32.add 1 $f i32.load 8 16 i32.mul memory.fill"},
			nil, 1, []string{"identity", "merge"}, "a fresh accumulator is merged into theirs"},
		{"a merge that breaks down", []string{"; unlucky", "; unlucky"}, nil, 1, []string{"merge"}, "trapped: unreachable in tm_aggregate_merge"},
		{"two problems of an upload", []string{"func tm_aggregate_merge", "func merge", "memory 3", "memory 2000"}, nil, 2, nil, "refused upload    starts with 2000 pages of memory, at most 1024 (64 MiB) are allowed\nrefused upload    does not export the function tm_aggregate_merge (i32) -> i32, which its manifest asks for\n"},
		{"arguments that it refuses", nil, []string{"--args", "scale=0"}, 2, nil, "plug-in sum refuses its arguments: scale must be above 0"},
		{"an argument that is none", nil, []string{"--args", "scala=1"}, 2, nil, "--args: there is no parameter scala, only scale"},
		{"an argument of another type", nil, []string{"--args", "scale=x"}, 2, nil, `--args: scale: "x" is no int64`},
		{"data for other columns", nil, []string{"--data", "other.csv"}, 2, nil, "other.csv: no record has a value for the input value"},
		{"data with a wrong value", nil, []string{"--data", "wrong.jsonl"}, 2, nil, `wrong.jsonl: line 2: value: "x" is no int64`},
		{"too many records", nil, []string{"--records", "-1"}, 2, nil, "--records must be 0 to 1000000"},
	} {
		t.Run(c.what, func(t *testing.T) {
			edits := c.edits
			if !strings.Contains(c.what, "breaks down") {
				edits = append(edits, lucky...)
			}
			dir := workspace(t, map[string]string{"p.wasm": string(wasmtest.Guest(t, "sum", edits...)), "other.csv": "amount\n5\n", "wrong.jsonl": "{\"value\": 1}\n{\"value\": \"x\"}\n"})
			out, stderr, code := tidemark(t, dir, "", append([]string{"plugin", "check", "p.wasm", "--seed", "3", "--records", "600"}, c.args...)...)
			if code != c.code || !strings.Contains(out+stderr, c.says) {
				t.Fatalf("exit code %d, want %d and %q\n%s%s", code, c.code, c.says, out, stderr)
			}
			for _, law := range c.laws {
				if !strings.Contains(out, "\nBROKEN  "+law+" ") {
					t.Errorf("%s is not found:\n%s", law, out)
				}
			}
			if c.laws == nil && strings.Contains(out, "BROKEN") {
				t.Errorf("nothing is broken:\n%s", out)
			}
		})
	}
}

// A fault that no generated record shows is found in the author's own; what is refused is
// told and no fault.
func TestPluginCheckOfOwnRecords(t *testing.T) {
	module := wasmtest.Guest(t, "sum", append([]string{sumMerges, "$b i64.load 0 i64.const 1000001 i64.eq if 0 return end\n    " + sumMerges}, lucky...)...)
	dir := workspace(t, map[string]string{"p.wasm": string(module), "fine.csv": "place,value\nx,7\ny,\nz,-2\n", "own.jsonl": "{\"value\": 4}\n{\"value\": 1000001, \"other\": [1]}\n"})
	out, _, code := tidemark(t, dir, "", "plugin", "check", "p.wasm", "--records", "0", "--data", "fine.csv")
	if code != 0 || !strings.Contains(out, "1 record taken (3 of your own, again in pieces); 1 refused: negative value\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	out, _, code = tidemark(t, dir, "", "plugin", "check", "p.wasm", "--seed", "1", "--records", "300", "--data", "own.jsonl")
	if code != 1 || !strings.Contains(out, "BROKEN  merge ") || !strings.Contains(out, "record {value: 1000001}\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
