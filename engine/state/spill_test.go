package state

import (
	"bytes"
	"testing"

	"tidemark/engine/stream"
)

func TestNamesComeInOrderOfTimes(t *testing.T) {
	times := []stream.Time{stream.MinTime, -1 << 40, -256, -1, 0, 1, 255, 256, 1 << 40, stream.MaxTime}
	var last []byte
	for _, at := range times {
		name := AppendTime(nil, at)
		if TimeIn(name) != at {
			t.Errorf("%d is read as %d", at, TimeIn(name))
		}
		if bytes.Compare(last, name) >= 0 {
			t.Errorf("the name of %d does not come behind the one before", at)
		}
		last = name
	}
}

func TestBehindAPrefix(t *testing.T) {
	for _, c := range []struct{ prefix, want string }{{"a", "b"}, {"k\x00\x01", "k\x00\x02"}, {"k\x00\xff", "k\x01"}, {"k\xff\xff", "l"}} {
		got := string(Behind([]byte(c.prefix)))
		if got != c.want || got <= c.prefix+"\xff\xff\xff" {
			t.Errorf("behind %q is %q, want %q", c.prefix, got, c.want)
		}
	}
}
