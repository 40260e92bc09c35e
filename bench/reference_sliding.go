package main

import (
	"io"
	"strconv"
)

// sliding is windows of size ms, one beginning each slide ms.
type sliding struct {
	size, slide int64
	// lateness keeps windows for so many ms behind their end: a late record gives each of them
	// that it lies in another row.
	lateness int64
	// users adds how many different users a window has; then nothing may be late.
	users bool
}

// slidingLoop is a loop over plain panes. A pane is as long as the longest time that both size and
// slide are multiples of, and is a Go map of cells until the watermark has passed it. Then its cells
// go to their keys, each of which has a block of as many panes as a window. A window that ends
// with a pane is what the block has so far, and what the block before it had behind this place,
// of which all sums are made when a block is full: a row costs two merges, however long the window.
type slidingLoop struct {
	sliding
	pane   int64 // ms
	blocks int   // panes of a block

	numbers map[string]uint32
	keys    []*slidingKey // by number
	active  []*slidingKey // those with records in the last window, or in panes closed since
	panes   map[int64]map[uint32]*cell
	highest int64
	next    int64 // end of the pane that is closed next
	place   int   // of that pane in its block

	distinct *distinctUsers // nil: not asked for
	rows     rowWriter
}

type slidingKey struct {
	name     string
	number   uint32
	active   bool
	block    []cell
	prefix   cell     // of the block so far
	suffixes []cell   // [i]: of the block before, from place i on
	fired    []firing // with lateness: the last results, in a ring
	users    userCounts
}

// firing is the result of a window and key that has been written, so that it can be again.
type firing struct {
	end, revision int64
	cell
}

func (q sliding) loop(in io.Reader, out io.Writer) error {
	l := &slidingLoop{sliding: q, pane: q.slide, numbers: map[string]uint32{}, panes: map[int64]map[uint32]*cell{}, rows: newRowWriter(out)}
	for rest := q.size; rest%l.pane > 0; { // Euclid
		rest, l.pane = l.pane, rest%l.pane
	}
	l.blocks = int(q.size / l.pane)
	if q.users {
		l.distinct = newDistinctUsers()
	}
	if err := eachEvent(in, l.take); err != nil {
		return err
	}
	for len(l.panes) > 0 || len(l.active) > 0 {
		if err := l.close(); err != nil {
			return err
		}
	}
	return l.rows.out.Flush()
}

func (l *slidingLoop) take(e *event) error {
	n, ok := l.numbers[string(e.key)]
	if !ok {
		n = uint32(len(l.keys))
		k := &slidingKey{name: string(e.key), number: n, block: make([]cell, l.blocks), suffixes: make([]cell, l.blocks+1)}
		if l.lateness > 0 {
			k.fired = make([]firing, l.lateness/l.slide+2)
		}
		l.numbers[k.name] = n
		l.keys = append(l.keys, k)
	}
	if l.next == 0 {
		l.next = e.time - bound - (e.time-bound)%l.pane + l.pane
	}
	start := e.time - e.time%l.pane
	if start+l.pane < l.next {
		return l.late(l.keys[n], start, e)
	}
	pane := l.panes[start]
	if pane == nil {
		pane = map[uint32]*cell{}
		l.panes[start] = pane
	}
	c := pane[n]
	if c == nil {
		c = &cell{}
		pane[n] = c
	}
	c.add(e.amount)
	if l.distinct != nil {
		l.distinct.take(start, n, e.user)
	}
	if e.time <= l.highest {
		return nil
	}
	l.highest = e.time
	for l.next <= l.highest-bound {
		if err := l.close(); err != nil {
			return err
		}
	}
	return nil
}

// close closes the next pane, and writes the window that ends with it, if one does.
func (l *slidingLoop) close() error {
	start := l.next - l.pane
	pane := l.panes[start]
	delete(l.panes, start)
	for n := range pane {
		l.activate(l.keys[n])
	}
	for _, k := range l.active {
		c := &k.block[l.place]
		*c = cell{}
		if p := pane[k.number]; p != nil {
			*c = *p
			k.prefix.merge(c)
		}
	}
	if l.distinct != nil {
		l.distinct.close(start, l.keys)
	}
	if (l.next-l.size)%l.slide == 0 {
		if err := l.fire(); err != nil {
			return err
		}
	}
	if l.place++; l.place == l.blocks {
		l.place = 0
		for _, k := range l.active {
			for i := l.blocks - 1; i >= 0; i-- {
				k.suffixes[i] = k.suffixes[i+1]
				k.suffixes[i].merge(&k.block[i])
			}
			k.prefix = cell{}
		}
	}
	l.next += l.pane
	return nil
}

func (l *slidingLoop) activate(k *slidingKey) {
	if !k.active {
		k.active = true
		l.active = append(l.active, k)
	}
}

// fire writes the window that ends with the pane that is being closed.
func (l *slidingLoop) fire() error {
	end, still := l.next, l.active[:0]
	for _, k := range l.active {
		r := k.prefix
		r.merge(&k.suffixes[l.place+1])
		if l.distinct != nil {
			k.users.leave(end - l.size)
		}
		if r.count == 0 {
			k.active = false
			clear(k.suffixes) // they are empty behind this place, but the next block begins before it
			clear(k.block)
			continue
		}
		still = append(still, k)
		row := l.rows.begin(end-l.size, end, k.name, &r)
		if l.distinct != nil {
			row = strconv.AppendInt(append(row, `,"users":`...), int64(len(k.users.records)), 10)
		}
		if err := l.rows.finish(row); err != nil {
			return err
		}
		if k.fired != nil {
			*k.at(end, l.slide) = firing{end: end, revision: 1, cell: r}
		}
	}
	l.active = still
	return nil
}

// at is where the result of the window that ends at end is kept.
func (k *slidingKey) at(end, slide int64) *firing { return &k.fired[end/slide%int64(len(k.fired))] }

// late takes a record whose pane has been closed, into the windows that are open yet, and writes
// those again that have fired and are kept.
func (l *slidingLoop) late(k *slidingKey, start int64, e *event) error {
	l.activate(k)
	place := l.place - int((l.next-l.pane-start)/l.pane)
	if place >= 0 {
		k.block[place].add(e.amount)
		k.prefix.add(e.amount)
	} else {
		for i := l.place + 1; i <= place+l.blocks; i++ {
			k.suffixes[i].add(e.amount)
		}
	}
	// The last window that holds the record begins at or before it.
	for begin := e.time - e.time%l.slide; begin > e.time-l.size; begin -= l.slide {
		end := begin + l.size
		if end >= l.next {
			continue // it has not fired
		}
		if end+l.lateness <= l.highest-bound {
			break
		}
		f := k.at(end, l.slide)
		if f.end != end {
			*f = firing{end: end}
		}
		f.add(e.amount)
		row := l.rows.begin(begin, end, k.name, &f.cell)
		if f.revision > 0 {
			row = strconv.AppendInt(append(row, `,"revision":`...), f.revision, 10)
		}
		f.revision++
		if err := l.rows.finish(row); err != nil {
			return err
		}
	}
	return nil
}
