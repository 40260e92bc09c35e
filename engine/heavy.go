package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// What an error about the state budget says: which steps, windows and keys hold so much.

// Limits of what an error about the budget says.
const (
	namedSteps = 3
	// countedWindows bounds the windows that are told apart: sessions are windows of their
	// own, and memory is short.
	countedWindows = 100_000
	// maxKeyText bounds how much of a key is shown, in bytes.
	maxKeyText = 200
)

// heavy is what a step holds.
type heavy struct {
	step    *stepSpec
	bytes   int64
	pieces  int64 // of state: a key's in a window, or in a slice that windows share
	windows map[stream.Window]*weight
	more    bool // there are more windows than are told apart
	key     []byte
	of      stream.Window
	weight  int64 // of key in that window: the heaviest piece
}

type weight struct{ bytes, keys int64 }

// add takes a piece of state.
func (h *heavy) add(key []byte, w stream.Window, bytes int64) {
	h.pieces++
	if bytes > h.weight {
		h.key, h.of, h.weight = append(h.key[:0], key...), w, bytes
	}
	sum := h.windows[w]
	if sum == nil {
		if len(h.windows) == countedWindows {
			h.more = true
			return
		}
		sum = &weight{}
		h.windows[w] = sum
	}
	sum.bytes += bytes
	sum.keys++
}

// overBudget says what holds so much. All tasks have ended.
func (j *Job) overBudget() error {
	steps := map[*stepSpec]*heavy{}
	var all []*heavy
	for _, t := range j.keyed {
		h := steps[t.step]
		if h == nil {
			h = &heavy{step: t.step, windows: map[stream.Window]*weight{}}
			steps[t.step] = h
			all = append(all, h)
		}
		h.bytes += t.op.Bytes()
		t.op.Weigh(h.add)
	}
	slices.SortStableFunc(all, func(a, b *heavy) int { return cmp.Compare(b.bytes, a.bytes) })
	var b strings.Builder
	fmt.Fprintf(&b, "the state of the job takes %s, its budget is %s (settings.state_budget)", size(max(j.budget.held.Load(), j.budget.most)), size(j.budget.limit))
	for i, h := range all {
		if i == namedSteps || h.bytes == 0 {
			break
		}
		fmt.Fprintf(&b, "; %s", j.describe(h))
	}
	fmt.Fprint(&b, ". What is written so far stays; open windows have not fired. Raise the budget, or hold less: shorter windows or gaps, less allowed_lateness, fewer keys, a null_key: drop, functions with accumulators of fixed size (docs/functions.md)")
	if j.keeper != nil {
		fmt.Fprint(&b, j.goesOn())
	}
	return fault.As(fault.ErrQuota, errors.New(b.String()))
}

// describe says what a step holds.
func (j *Job) describe(h *heavy) string {
	text := fmt.Sprintf("step %s has %s in %s", h.step.ID, size(h.bytes), countOf(h.pieces, "piece of state", "pieces of state"))
	windows := len(h.windows)
	if _, ok := h.windows[stream.Global]; ok {
		windows-- // what a key has beside its windows
	}
	var top stream.Window
	most := &weight{}
	for w, sum := range h.windows {
		if w != stream.Global && (sum.bytes > most.bytes || sum.bytes == most.bytes && w.Start < top.Start) {
			top, most = w, sum
		}
	}
	if most.keys > 0 {
		count := countOf(int64(windows), "window or slice", "windows or slices")
		if h.more {
			count = "more than " + count
		}
		text += fmt.Sprintf(" and %s, of which %s has %s of %s", count, windowText(top), size(most.bytes), countOf(most.keys, "key", "keys"))
	}
	if h.weight > 0 {
		key := result.NewRecordEncoder(j.origin(), h.step.ID, h.step.key, result.RFC3339).KeyText(h.key)
		if len(key) > maxKeyText {
			key = strings.ToValidUTF8(key[:maxKeyText], "") + "…"
		}
		text += fmt.Sprintf("; the key with most in one piece is %s, with %s in %s", key, size(h.weight), windowText(h.of))
	}
	return text
}

func countOf(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
