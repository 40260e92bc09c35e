package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// Reference loops are what a careful programmer writes for one question and nothing else: one
// goroutine, Go maps, a scanner that validates nothing, rows written as the watermark
// passes the ends of windows. They have no checkpoints, no output for late records and no
// second question; the multiple of their CPU time is the price of those. Each has a file:
// tumbling, sliding, session, everything.

// bound is how far the watermark follows the highest time seen, in ms. A window has ended
// once its end is at or below highest - bound.
const bound int64 = 5_000

// reference is a loop over the lines of in that writes its rows to out.
type reference func(in io.Reader, out io.Writer) error

// cell is what loops keep of a window and key.
type cell struct {
	count       int64
	sum, max    float64
	first, last int64 // of sessions: event time of the first and the last record
}

func (c *cell) add(amount float64) {
	if c.count == 0 || amount > c.max {
		c.max = amount
	}
	c.count++
	c.sum += amount
}

// merge adds what another cell has seen.
func (c *cell) merge(o *cell) {
	if o.count == 0 {
		return
	}
	if c.count == 0 || o.max > c.max {
		c.max = o.max
	}
	c.count += o.count
	c.sum += o.sum
}

// rowWriter writes rows as lines
//
//	{"start":1760000400000,"end":1760000410000,"key":"k0000123","count":9,"sum":4277.25,"max":951.00}
//
// Amounts have two decimals, and so have their sums: these are exact.
type rowWriter struct{ out *bufio.Writer }

func newRowWriter(out io.Writer) rowWriter { return rowWriter{bufio.NewWriterSize(out, 1<<20)} }

func (w rowWriter) write(start, end int64, key string, c *cell) error {
	return w.finish(w.begin(start, end, key, c))
}

// begin returns a row that is not closed yet, for others to append to.
func (w rowWriter) begin(start, end int64, key string, c *cell) []byte {
	b := w.out.AvailableBuffer()
	b = append(b, `{"start":`...)
	b = strconv.AppendInt(b, start, 10)
	b = append(b, `,"end":`...)
	b = strconv.AppendInt(b, end, 10)
	b = append(b, `,"key":"`...)
	b = append(b, key...)
	b = append(b, `","count":`...)
	b = strconv.AppendInt(b, c.count, 10)
	b = append(b, `,"sum":`...)
	b = strconv.AppendFloat(b, c.sum, 'f', 2, 64)
	b = append(b, `,"max":`...)
	return strconv.AppendFloat(b, c.max, 'f', 2, 64)
}

func (w rowWriter) finish(row []byte) error {
	if _, err := w.out.Write(append(row, "}\n"...)); err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	return nil
}
