package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"
)

// Comparison of results. The reference and the engine write different lines; what
// must be equal is the set of windows and keys and, for each, count, sum and max.

type rowKey struct {
	start int64 // ms
	key   string
}

type rowValue struct {
	Count int64   `json:"count"`
	Sum   float64 `json:"sum"`
	Max   float64 `json:"max"`
}

func (v rowValue) same(o rowValue) bool {
	return v.Count == o.Count &&
		math.Float64bits(v.Sum) == math.Float64bits(o.Sum) && math.Float64bits(v.Max) == math.Float64bits(o.Max)
}

// readReference reads the rows of Reference.
func readReference(in io.Reader) (map[rowKey]rowValue, error) {
	return readRows(in, func(line []byte) (rowKey, rowValue, error) {
		var row struct {
			Start int64
			Key   string
			rowValue
		}
		err := json.Unmarshal(line, &row)
		return rowKey{row.Start, row.Key}, row.rowValue, err
	})
}

// readEngine reads the engine's rows. The three numbers are members of value, or of
// its only member where one plug-in gives them all.
func readEngine(in io.Reader) (map[rowKey]rowValue, error) {
	return readRows(in, func(line []byte) (rowKey, rowValue, error) {
		var row struct {
			Key    struct{ Key string }
			Window struct{ Start time.Time }
			Kind   string
			Value  struct {
				rowValue
				Amount *rowValue
			}
		}
		err := json.Unmarshal(line, &row)
		if err == nil && row.Kind != "on_time" {
			err = fmt.Errorf("row of kind %q, nothing is late in this workload", row.Kind)
		}
		if row.Value.Amount != nil {
			row.Value.rowValue = *row.Value.Amount
		}
		return rowKey{row.Window.Start.UnixMilli(), row.Key.Key}, row.Value.rowValue, err
	})
}

func readRows(in io.Reader, parse func(line []byte) (rowKey, rowValue, error)) (map[rowKey]rowValue, error) {
	rows := map[rowKey]rowValue{}
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		k, v, err := parse(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", n, err)
		}
		if _, twice := rows[k]; twice {
			return nil, fmt.Errorf("row %d: a second row for window %d, key %s", n, k.start, k.key)
		}
		rows[k] = v
	}
	return rows, lines.Err()
}

// compareRows returns nil if both have the same rows, else says how many differ and
// shows one.
func compareRows(want, got map[rowKey]rowValue) error {
	differ, example := 0, ""
	note := func(format string, args ...any) {
		if differ++; differ == 1 {
			example = fmt.Sprintf(format, args...)
		}
	}
	for k, w := range want {
		if g, ok := got[k]; !ok {
			note("window %d, key %s: missing", k.start, k.key)
		} else if !w.same(g) {
			note("window %d, key %s: %+v, the reference has %+v", k.start, k.key, g, w)
		}
	}
	for k, g := range got {
		if _, ok := want[k]; !ok {
			note("window %d, key %s: %+v, the reference has none", k.start, k.key, g)
		}
	}
	if differ > 0 {
		return fmt.Errorf("%d of %d rows differ from the reference's, such as %s", differ, len(want), example)
	}
	return nil
}
