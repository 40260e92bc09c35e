package checkpoint

import "testing"

// What is left of a checkpoint without an operator can be read, and the checkpoint itself
// has lost nothing.
func TestWithoutOperators(t *testing.T) {
	l := claimed(t, testStore(t))
	w := l.Begin(Meta{Kind: Periodic})
	for _, op := range []string{"", "a", "b"} {
		for n := range uint32(2) {
			if err := w.Add(t.Context(), Section{Operator: op, Kind: KindGroup, Number: n, Version: 1, Body: []byte(op)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := w.Checkpoint()
	for _, row := range []struct {
		drop []string
		left []int // sections of "", a and b
	}{
		{nil, []int{2, 2, 2}},
		{[]string{"a"}, []int{2, 0, 2}},
		{[]string{"b", "a"}, []int{2, 0, 0}},
		{[]string{"unknown"}, []int{2, 2, 2}},
	} {
		less := c.Without(row.drop)
		if err := less.Verify(t.Context()); err != nil || less.Meta.ID != c.Meta.ID || less.Path() != c.Path() {
			t.Errorf("without %v: %v", row.drop, err)
		}
		for i, op := range []string{"", "a", "b"} {
			n := 0
			for s, err := range less.Sections(t.Context(), op, KindGroup) {
				if err != nil || string(s.Body) != op {
					t.Errorf("without %v, of %q: %v", row.drop, op, err)
				}
				n++
			}
			if n != row.left[i] {
				t.Errorf("without %v there are %d sections of %q, want %d", row.drop, n, op, row.left[i])
			}
		}
	}
	if len(c.Refs()) != 6 {
		t.Errorf("%d sections are left of the checkpoint itself", len(c.Refs()))
	}
}

func TestNamesOfManifests(t *testing.T) {
	for name, want := range map[string]bool{
		"log-000000000012": true, "log-12": false, "data-000000000007-000000000021-0000": false, "log-000000000012.part": false, "": false,
	} {
		if IsManifest(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}

func TestIdsGoOnAboveThoseOfAnotherLog(t *testing.T) {
	l := claimed(t, testStore(t))
	first := take(t, l, Periodic, "a").Meta.ID
	l.After(100)
	second := take(t, l, Periodic, "b").Meta.ID
	l.After(7)
	third := take(t, l, Periodic, "c").Meta.ID
	if first != 1 || second != 101 || third != 102 {
		t.Errorf("ids %d, %d, %d; want 1, 101, 102", first, second, third)
	}
}
