package tenant

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"tidemark/internal/fault"
)

func TestParseID(t *testing.T) {
	for _, c := range []struct {
		name, id string
		ok       bool
	}{
		{"one letter", "a", true},
		{"letters, digits, hyphens", "team-7", true},
		{"forty characters", strings.Repeat("a", 40), true},
		{"forty-one are too many", strings.Repeat("a", 41), false},
		{"empty", "", false},
		{"a digit first", "7up", false},
		{"capitals", "Team", false},
		{"a path", "../a", false},
		{"a newline at the end", "a\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := ParseID(c.id); (err == nil) != c.ok || err != nil && !errors.Is(err, fault.ErrUser) {
				t.Errorf("%q: %v", c.id, err)
			}
		})
	}
}

func TestToken(t *testing.T) {
	// Random bytes 0, 1, 2, …, 39.
	raw := make([]byte, 40)
	for i := range raw {
		raw[i] = byte(i)
	}
	text, stored, err := NewToken(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if want := "tmk_0001020304050607_CAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIyQlJic"; text != want {
		t.Errorf("token %s, want %s", text, want)
	}
	if id, ok := TokenID(text); !ok || id != stored.ID || id != "0001020304050607" {
		t.Errorf("id %q, %v", id, ok)
	}
	if !stored.Matches(text) {
		t.Error("a token does not match itself")
	}
	if last := text[:len(text)-1] + "g"; stored.Matches(last) {
		t.Error("another secret matches")
	}
	for _, bad := range []string{"", "tmk_", "tmk_0001020304050607_", "tmk_00_" + text[21:], strings.Replace(text, "tmk", "tok", 1)} {
		if id, ok := TokenID(bad); ok {
			t.Errorf("%q has id %q", bad, id)
		}
	}
	if _, _, err := NewToken(bytes.NewReader(raw[:39])); !errors.Is(err, fault.ErrExternal) {
		t.Errorf("too few random bytes: %v", err)
	}
}

func TestCharge(t *testing.T) {
	if err := Charge("jobs", 7, 1, 8); err != nil {
		t.Errorf("the last one that fits: %v", err)
	}
	if err := Charge("jobs", 8, 1, 8); !errors.Is(err, fault.ErrQuota) {
		t.Errorf("one too many: %v", err)
	}
}
