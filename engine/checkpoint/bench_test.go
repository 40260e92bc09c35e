package checkpoint

import (
	"crypto/rand"
	"testing"

	"tidemark/internal/env"
)

// benchCut is a large checkpoint: 160 key groups of half a MiB.
const benchSections, benchSize = 160, 512 << 10

// BenchmarkPublish writes large checkpoints to the directory of temporary files. Beside
// it, what the same bytes cost that are only written and synced: BenchmarkWriteAndSync.
func BenchmarkPublish(b *testing.B) {
	l := Open(OpenLocal(env.Real().FS, b.TempDir()), rand.Reader)
	if err := l.Claim(b.Context()); err != nil {
		b.Fatal(err)
	}
	body := make([]byte, benchSize)
	b.SetBytes(benchSections * benchSize)
	for b.Loop() {
		w := l.Begin(Meta{Kind: Periodic})
		for i := range uint32(benchSections) {
			if err := w.Add(b.Context(), Section{Operator: "sum", Kind: KindGroup, Number: i, Body: body}); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Publish(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := l.Retain(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteAndSync(b *testing.B) {
	s := OpenLocal(env.Real().FS, b.TempDir())
	body := make([]byte, benchSize)
	b.SetBytes(benchSections * benchSize)
	for b.Loop() {
		o, err := s.Create(b.Context(), "data")
		if err != nil {
			b.Fatal(err)
		}
		for range benchSections {
			if _, err := o.Write(body); err != nil {
				b.Fatal(err)
			}
		}
		if err := o.Close(); err != nil {
			b.Fatal(err)
		}
		if err := s.Delete(b.Context(), "data"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLast reads one whole, and then its sections.
func BenchmarkLast(b *testing.B) {
	l := Open(OpenLocal(noSync{env.Real().FS}, b.TempDir()), rand.Reader)
	if err := l.Claim(b.Context()); err != nil {
		b.Fatal(err)
	}
	w := l.Begin(Meta{Kind: Periodic})
	body := make([]byte, benchSize)
	for i := range uint32(benchSections) {
		if err := w.Add(b.Context(), Section{Operator: "sum", Kind: KindGroup, Number: i, Body: body}); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Publish(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(benchSections * benchSize)
	for b.Loop() {
		c, _, err := l.Last(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range c.Sections(b.Context(), "sum", KindGroup) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
