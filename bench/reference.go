package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// The reference loop R: what a careful programmer writes for this one question and
// nothing else. One goroutine, a scanner that knows the shape of the lines and
// validates nothing, a Go map per open window, windows written as the watermark
// passes them. It has no checkpoints, no late output and no second question; the
// multiple of its CPU time is the price of those.

const (
	windowSize int64 = 10_000 // ms
	bound      int64 = 5_000  // ms; the watermark follows the highest time seen at this distance
)

type cell struct {
	count int64
	sum   float64
	max   float64
}

// openWindow is a window that the watermark has not passed.
type openWindow struct {
	start int64
	cells map[string]*cell
}

// Reference reads lines and writes one row for each window and key to out:
//
//	{"start":1760000400000,"end":1760000410000,"key":"k0000123","count":9,"sum":4277.25,"max":951.25}
func Reference(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	rows := bufio.NewWriterSize(out, 1<<16)
	var open []openWindow // in order of start; a handful
	var highest int64
	var current *openWindow // most lines fall into the window of the line before
	for lines.Scan() {
		e := scanEvent(lines.Bytes())
		start := e.time - e.time%windowSize
		if current == nil || current.start != start {
			i, found := slices.BinarySearchFunc(open, start, func(w openWindow, s int64) int { return int(w.start - s) })
			if !found {
				open = slices.Insert(open, i, openWindow{start, map[string]*cell{}})
			}
			current = &open[i]
		}
		c := current.cells[string(e.key)]
		if c == nil {
			c = &cell{max: e.amount}
			current.cells[string(e.key)] = c
		}
		c.count++
		c.sum += e.amount
		c.max = max(c.max, e.amount)

		if e.time > highest {
			highest = e.time
			for len(open) > 0 && open[0].start+windowSize <= highest-bound {
				if err := open[0].write(rows); err != nil {
					return err
				}
				open = slices.Delete(open, 0, 1)
				current = nil
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read lines: %w", err)
	}
	for _, w := range open {
		if err := w.write(rows); err != nil {
			return err
		}
	}
	return rows.Flush()
}

func (w openWindow) write(rows *bufio.Writer) error {
	for key, c := range w.cells {
		b := rows.AvailableBuffer()
		b = append(b, `{"start":`...)
		b = strconv.AppendInt(b, w.start, 10)
		b = append(b, `,"end":`...)
		b = strconv.AppendInt(b, w.start+windowSize, 10)
		b = append(b, `,"key":"`...)
		b = append(b, key...)
		b = append(b, `","count":`...)
		b = strconv.AppendInt(b, c.count, 10)
		b = append(b, `,"sum":`...)
		b = strconv.AppendFloat(b, c.sum, 'f', -1, 64)
		b = append(b, `,"max":`...)
		b = strconv.AppendFloat(b, c.max, 'f', -1, 64)
		b = append(b, "}\n"...)
		if _, err := rows.Write(b); err != nil {
			return fmt.Errorf("write rows: %w", err)
		}
	}
	return nil
}

// event is the part of a line that the question needs; key aliases the line.
type event struct {
	time   int64
	key    []byte
	amount float64
}

// scanEvent walks over the members of an object. It steps over white space and
// escapes as it must to find its way, but checks nothing: values are taken to be flat
// and well formed, and the wanted ones free of escapes.
func scanEvent(line []byte) event {
	var e event
	i := skipSpace(line, 0) + 1 // behind the brace
	for {
		i = skipSpace(line, i)
		if i >= len(line) || line[i] != '"' {
			return e
		}
		end := endOfString(line, i+1)
		member := line[i+1 : end]
		i = skipSpace(line, end+1) // colon
		i = skipSpace(line, i+1)
		from := i
		var value []byte
		if line[i] == '"' {
			end := endOfString(line, i+1)
			value, i = line[from+1:end], end+1
		} else {
			for line[i] != ',' && line[i] != '}' && line[i] != ' ' {
				i++
			}
			value = line[from:i]
		}
		switch string(member) {
		case "event_time":
			for _, d := range value {
				e.time = e.time*10 + int64(d-'0')
			}
		case "key":
			e.key = value
		case "amount":
			e.amount = scanDecimal(value)
		}
		i = skipSpace(line, i) + 1 // comma or brace
	}
}

func skipSpace(line []byte, i int) int {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	return i
}

// endOfString returns where the closing quote of a string stands that begins at i.
func endOfString(line []byte, i int) int {
	for line[i] != '"' {
		if line[i] == '\\' {
			i++
		}
		i++
	}
	return i
}

// scanDecimal reads digits with at most one point. The digits fit into 53 bits and
// the power of ten is exact, so the quotient is the nearest float64.
func scanDecimal(text []byte) float64 {
	digits, scale, fraction := int64(0), 1.0, false
	for _, d := range text {
		if d == '.' {
			fraction = true
			continue
		}
		digits = digits*10 + int64(d-'0')
		if fraction {
			scale *= 10
		}
	}
	return float64(digits) / scale
}
