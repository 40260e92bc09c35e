package guest_test

import (
	"errors"
	"strings"
	"testing"

	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

func TestAskManifest(t *testing.T) {
	for _, c := range []struct{ name, code, want, problem string }{
		{"a manifest", "func tm_manifest -> i64\n  i64.const 0x0000_0a00_0000_0005\n", `{"x"}`, ""},
		{"none", "", "", "does not export tm_manifest, so its manifest is not known"},
		{"one outside the memory", "func tm_manifest -> i64\n  i64.const 0x0002_ffff_0000_0005\n", "", "lies outside the memory"},
		{"one that is too long", "func tm_manifest -> i64\n  i64.const 0x0000_0000_0001_0001\n", "", "the manifest has 65537 bytes, at most 65536 are allowed"},
		{"a trap", "func tm_manifest -> i64\n  unreachable\n", "", "unreachable in tm_manifest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := wasmtest.Guest(t, "sum", "memory 3", c.code+"memory 3\ndata 2560 \"{\\\"x\\\"}\"")
			got, err := compiler(t).AskManifest(t.Context(), file)
			if c.problem == "" {
				if err != nil || string(got) != c.want {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("got %v, want %q", err, c.problem)
			}
			if !errors.Is(err, fault.ErrUser) && !errors.Is(err, fault.ErrGuest) {
				t.Error("no class")
			}
		})
	}
}

// A module exports the calls of its kind and no others, so it is asked as one of that kind.
func TestAskManifestOfEveryKind(t *testing.T) {
	for _, export := range []string{"tm_process", "tm_pair", "tm_map", "tm_watermark", "tm_trigger", "tm_assign"} {
		edits := []string{"memory 3", "func tm_manifest -> i64\n  i64.const 0x0000_0a00_0000_0005\nmemory 3\ndata 2560 \"{\\\"x\\\"}\"",
			"func tm_aggregate_create", "func " + export}
		for _, call := range []string{"add", "merge", "result"} {
			edits = append(edits, "func tm_aggregate_"+call, "func "+call)
		}
		if got, err := compiler(t).AskManifest(t.Context(), wasmtest.Guest(t, "sum", edits...)); err != nil || string(got) != `{"x"}` {
			t.Errorf("%s: got %q, %v", export, got, err)
		}
	}
}
