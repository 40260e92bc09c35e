// Command firings is a process function for tests: over records, with both states, several
// outputs, and what may go wrong.
package main

import (
	"errors"
	"strings"

	tidemark "tidemark/sdk/go"
)

var (
	tag  = tidemark.String("tag").Nullable()
	text = tidemark.String("text")
	size = tidemark.Int64("size").Nullable()

	records = tidemark.Records(text, size)

	joined = tidemark.OutString("joined")
	n      = tidemark.OutInt64("n")
	first  = tidemark.OutTime("first")
	late   = tidemark.OutBool("late")
	mean   = tidemark.OutFloat64("mean")

	word  = tidemark.OutString("word")
	words = tidemark.Side("words", word)

	seen  = tidemark.BytesState()        // of the key: all that was joined
	calls = tidemark.FixedState[int64]() // of the window
)

// fire joins the texts of the records behind what the key has had, and says each in the
// side output. Some texts are orders.
func fire(f *tidemark.Firing) error {
	var all strings.Builder
	all.Write(seen.Get(f))
	all.WriteString(tag.Of(f.Row()))
	sum, sized := int64(0), 0
	w := f.Emit()
	for r := range records.Of(f) {
		if at, timed := records.Time(r); timed && r == records.At(f, 0) {
			first.Set(w, at)
		}
		if !size.Null(r) {
			sum += size.Of(r)
			sized++
		}
		all.WriteString(text.Of(r))
	}
	c, _ := calls.Get(f)
	c++
	calls.Set(f, c)
	if c == 100 {
		calls.Clear(f)
	}
	n.Set(w, c*1000+int64(records.Len(f)))
	late.Set(w, f.Watermark() >= f.End())
	if sized > 0 {
		mean.Set(w, float64(sum)/float64(sized))
	}
	joined.Set(w, all.String())
	seen.Set(f, []byte(all.String()))
	for r := range records.Of(f) {
		switch order := text.Of(r); order {
		case "refuse":
			return errors.New("a text that is refused")
		case "panic":
			panic("no luck with panic")
		case "long":
			word.Set(words.Emit(f), strings.Repeat("x", 1<<20+1))
		case "much": // more than an arena holds
			for range 5 {
				word.Set(words.Emit(f), strings.Repeat("x", 1<<20))
			}
		case "large": // a few of them fill an arena
			word.Set(words.Emit(f), strings.Repeat("x", 1<<19))
		case "stale":
			words.Emit(f)
			n.Set(w, 1)
		case "forget":
			seen.Set(f, nil)
		default:
			word.Set(words.Emit(f), order)
		}
	}
	return nil
}

var plugin = tidemark.Process(tidemark.ProcessSpec{
	Name: "firings", Version: "1",
	Inputs: []tidemark.Input{tag}, Records: records,
	Outputs: []tidemark.Output{joined, n, first, late, mean}, Side: []*tidemark.SideOutput{words},
	KeyState: seen, WindowState: calls,
}, fire)

func main() {}
