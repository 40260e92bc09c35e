package main

import (
	"bufio"
	"fmt"
	"io"
)

// How reference loops read lines: with a scanner that knows their shape and validates
// nothing.

// eachEvent calls f for each line.
func eachEvent(in io.Reader, f func(e *event) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	var e event
	for lines.Scan() {
		e = scanEvent(lines.Bytes())
		if err := f(&e); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read lines: %w", err)
	}
	return nil
}

// event is the part of a line that the questions need; key and user alias the line.
type event struct {
	time      int64
	key, user []byte
	amount    float64
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
		case "user_id":
			e.user = value
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
