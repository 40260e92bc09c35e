package expr

import "testing"

// Any text is refused or computed, for records with and without values.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{"a + b * 3 > int(x)", "s.matches('^h') ? t.getHours('Asia/Shanghai') : 1 / 0", "user.id in [1, null] || !ok", "dyn(a) == 1.0",
		"type(a)", "size([1])", "{'a': 1}.a", "b'x' < bytes(s)", "t - t < duration('1s')", "has(a.b)", "uint(a) + 1u", "[[a]][0][0]", "a.b.c", "-(-9223372036854775808)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := New(Config{Schema: schema, Filter: text})
		if err != nil {
			s, err = New(Config{Schema: schema, Derive: []Derived{{"v", text}}})
		}
		if err != nil {
			if _, ok := err.(Problems); !ok {
				t.Fatalf("%q: %v is no list of problems", text, err)
			}
			return
		}
		b := batchOf(one, null, one)
		out := run(t, s, b, all(b.N))
		if kept := out.N + len(out.Refused); kept > b.N || len(out.Of) != out.N {
			t.Fatalf("%q: %d rows and %d refusals of %d records", text, out.N, len(out.Refused), b.N)
		}
	})
}
