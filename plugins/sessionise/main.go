// Command sessionise is a process function over the records of a window: it splits those of
// a key into sessions, which end after gap_ms without a record, and carries the one that is
// still open over into the key's next window, so that a session is whole although windows
// cut time into pieces, and is told of early although it goes on.
//
// A session of a single record is a bounce, and goes to the side output of that name. The
// open one of a window is a row too, with open true, and comes again in a later window.
//
// A window that a late record corrects begins with what its first firing was handed, which
// is therefore kept with the window. What it hands on is corrected no more: the next window
// may have begun with it.
package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	tidemark "tidemark/sdk/go"
)

var (
	page    = tidemark.String("page").Nullable()
	records = tidemark.Records(page)

	gap = tidemark.ParamInt64("gap_ms").Default(1_800_000)

	start  = tidemark.OutTime("start")
	end    = tidemark.OutTime("end")
	events = tidemark.OutInt64("events")
	entry  = tidemark.OutString("entry")
	exit   = tidemark.OutString("exit")
	open   = tidemark.OutBool("open")

	at       = tidemark.OutTime("at")
	bounce   = tidemark.OutString("page")
	bounces  = tidemark.Side("bounces", at, bounce)
	handedOn = tidemark.BytesState() // of a key: the session that its last window left open
	handed   = tidemark.BytesState() // of a window: what the key's was when it first fired

	errGap   = errors.New("gap_ms must be at least 1")
	errState = errors.New("the state is not that of a session")
)

// session is records of a key without a gap between them. Its texts are views of the frame.
type session struct {
	start, end  tidemark.Timestamp // times of its first and of its last record
	events      int64              // 0: there is no session
	entry, exit []byte             // pages of these two, empty without one
}

// append writes the session as it is kept.
func (s *session) append(b []byte) []byte {
	for _, v := range [...]int64{int64(s.start), int64(s.end), s.events} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	for _, text := range [...][]byte{s.entry, s.exit} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// parse is the inverse of append; no bytes are no session.
func parse(b []byte) (s session, err error) {
	if len(b) == 0 {
		return s, nil
	}
	if len(b) < 24 {
		return s, errState
	}
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
	s.start, s.end, s.events = tidemark.Timestamp(word(0)), tidemark.Timestamp(word(1)), word(2)
	b = b[24:]
	for _, text := range [...]*[]byte{&s.entry, &s.exit} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return s, errState
		}
		*text, b = b[size:size+int(n)], b[size+int(n):]
	}
	if len(b) > 0 || s.events < 1 {
		return s, errState
	}
	return s, nil
}

// until is the last time at which a record still belongs to the session.
func (s *session) until() tidemark.Timestamp {
	if sum := s.end + tidemark.Timestamp(gap.Value()); sum > s.end {
		return sum
	}
	return math.MaxInt64
}

// timed is a record with its time.
type timed struct {
	time tidemark.Timestamp
	row  tidemark.Row
}

// Working memory, which nothing is kept in from firing to firing.
var (
	order []timed
	kept  []byte
)

// inOrder lists the records of a firing that have a time, by time.
func inOrder(f *tidemark.Firing) []timed {
	order = order[:0]
	for r := range records.Of(f) {
		if t, has := records.Time(r); has {
			order = append(order, timed{t, r})
		}
	}
	byTime := func(a, b timed) int { return cmp.Compare(a.time, b.time) }
	if !slices.IsSortedFunc(order, byTime) {
		slices.SortStableFunc(order, byTime)
	}
	return order
}

func split(f *tidemark.Firing) error {
	before := handed.Get(f)
	if f.Revision() == 0 {
		if before = handedOn.Get(f); len(before) > 0 {
			handed.Set(f, before)
		}
	}
	s, err := parse(before)
	if err != nil {
		return err
	}
	if s.end >= f.Start() { // windows have come out of their order
		s = session{}
	}
	for _, r := range inOrder(f) {
		p := page.Bytes(r.row)
		if s.events > 0 && r.time <= s.until() {
			s.end, s.events, s.exit = r.time, s.events+1, p
			continue
		}
		closed(f, &s)
		s = session{r.time, r.time, 1, p, p}
	}
	if s.until() < f.End() {
		closed(f, &s)
		s = session{}
	}
	kept = kept[:0]
	if s.events > 0 {
		emit(f, &s, true)
		kept = s.append(kept)
	}
	if f.Revision() == 0 && !bytes.Equal(kept, before) {
		handedOn.Set(f, kept)
	}
	return nil
}

// closed tells of a session that no record can join any more.
func closed(f *tidemark.Firing, s *session) {
	switch s.events {
	case 0:
	case 1:
		w := bounces.Emit(f)
		at.Set(w, s.start)
		set(bounce, w, s.entry)
	default:
		emit(f, s, false)
	}
}

func emit(f *tidemark.Firing, s *session, goesOn bool) {
	w := f.Emit()
	start.Set(w, s.start)
	end.Set(w, s.end)
	events.Set(w, s.events)
	set(entry, w, s.entry)
	set(exit, w, s.exit)
	open.Set(w, goesOn)
}

// set answers a page that there is.
func set(c *tidemark.StringOutput, w *tidemark.Out, text []byte) {
	if len(text) > 0 {
		c.SetBytes(w, text)
	}
}

var plugin = tidemark.Process(tidemark.ProcessSpec{
	Name: "sessionise", Version: "1.0.0",
	Records:  records,
	Outputs:  []tidemark.Output{start, end, events, entry, exit, open},
	Side:     []*tidemark.SideOutput{bounces},
	Params:   []tidemark.Param{gap},
	KeyState: handedOn, WindowState: handed,
	Configure: func() error {
		if gap.Value() < 1 {
			return errGap
		}
		return nil
	},
}, split)

func main() {}
