package main

import (
	"bytes"
	"strings"
	"testing"

	"tidemark/engine"
	"tidemark/engine/stream"
)

func TestProgressIsOneLineBelowTheOthersAndGoesAway(t *testing.T) {
	var b bytes.Buffer
	s := newScreen(&b)
	s.terminal = true
	s.observe(engine.Progress{Source: "orders", Read: 158631, Watermark: 1431857103000})
	if got := b.String(); !strings.HasSuffix(got, "s  orders: 158,631 read, at 2015-05-17T10:05:03.000Z") {
		t.Errorf("progress is %q", got)
	}
	b.Reset()
	s.observe(engine.Warning{Operator: "orders", Message: "odd"})
	if got, want := b.String(), "\r\x1b[Ktidemark: warning: orders: odd\n"; got != want {
		t.Errorf("a warning is %q, want %q", got, want)
	}
	b.Reset()
	s.draw(s.started)
	s.clear()
	if got := b.String(); !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("progress stays: %q", got)
	}
	b.Reset()
	s.observe(engine.Progress{Source: "orders", Watermark: stream.MaxTime})
	if b.Len() > 0 {
		t.Errorf("progress behind the end: %q", b.String())
	}
}

func TestTablesAlign(t *testing.T) {
	tab := newTable("name", ">n")
	tab.add("é", "1,000")
	tab.add("longer", "1")
	var b bytes.Buffer
	tab.write(&b, "  ")
	want := "  name        n\n  é       1,000\n  longer      1\n"
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
