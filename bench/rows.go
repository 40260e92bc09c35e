package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"tidemark/engine/job"
	"tidemark/engine/stream"
)

// Comparison of results. The reference and the engine write different lines in different
// orders; what must be equal is the multiset of rows: window, key, revision and the values, to
// the last bit. No row may come twice, so the multisets are sets.

// rowID is a row without its values.
type rowID struct {
	start, end stream.Time
	key        uint32 // number in rowSet.keys
	revision   int64  // how often the window of the key had fired before
}

// rowSet holds rows with their values as text. Text that is equal stands for bits that are:
// floats are written with as many digits as tell them from all others.
type rowSet struct {
	keys  map[string]uint32
	names []string
	at    map[rowID]uint32 // number of the row
	ends  []int            // in text, by number
	text  []byte
	seen  []bool // by number, in the comparison that is going on
}

// values is the text of a row.
func (s *rowSet) values(n uint32) []byte {
	from := 0
	if n > 0 {
		from = s.ends[n-1]
	}
	return s.text[from:s.ends[n]]
}

// shape is where the parts of a row stand in a line.
type shape struct {
	start, end, key, kind, revision []string
	values                          [][]string
}

// ofReference is the shape of what reference loops write, ofEngine that of a job's rows.
func (q *query) ofReference() shape {
	s := shape{start: []string{"start"}, end: []string{"end"}, key: []string{"key"}, revision: []string{"revision"}}
	for _, a := range q.aggregates {
		s.values = append(s.values, []string{a.name})
	}
	return s
}

func (q *query) ofEngine(plugin bool) shape {
	s := shape{start: []string{"window", "start"}, end: []string{"window", "end"}, key: []string{"key", "key"}, kind: []string{"kind"}, revision: []string{"revision"}}
	for _, a := range q.aggregates {
		path := []string{"value", a.name}
		if plugin {
			path = []string{"value", pluginName, a.name}
		}
		s.values = append(s.values, path)
	}
	return s
}

// eachRow calls f for each row of in, whose values are those of the query's aggregates; key and
// values are borrowed.
func (q *query) eachRow(in io.Reader, s shape, f func(id rowID, key, values []byte) error) error {
	if s.kind == nil {
		s.kind = []string{"kind"} // which no line of a reference has
	}
	fields := []job.Field{
		{Name: "start", Path: s.start, Kind: stream.Timestamp},
		{Name: "end", Path: s.end, Kind: stream.Timestamp},
		{Name: "key", Path: s.key, Kind: stream.String},
		{Name: "kind", Path: s.kind, Kind: stream.String},
		{Name: "revision", Path: s.revision, Kind: stream.Int64},
	}
	given := len(fields)
	for i, a := range q.aggregates {
		fields = append(fields, job.Field{Name: a.name, Path: s.values[i], Kind: a.kind})
	}
	row := 0
	var values []byte
	return eachBatch(in, fields, func(b *stream.Batch) error {
		for i := range b.N {
			row++
			for c, f := range fields {
				missing := b.Cols[c].Null(i) && f.Name != "key" && f.Name != "kind" && f.Name != "revision"
				if f.Kind == stream.Token {
					missing = len(b.Cols[c].Strs[i].Bytes(b.Blob)) == 0
				}
				if missing {
					return fmt.Errorf("row %d has no %s", row, f.Name)
				}
			}
			id := rowID{start: stream.Time(b.Cols[0].Ints[i]), end: stream.Time(b.Cols[1].Ints[i])}
			if !b.Cols[4].Null(i) {
				id.revision = b.Cols[4].Ints[i]
			}
			if kind := b.Cols[3].Strs[i].Bytes(b.Blob); len(kind) > 0 && (id.revision == 0) != (string(kind) == "on_time") {
				return fmt.Errorf("row %d is of kind %q at revision %d", row, kind, id.revision)
			}
			values = values[:0]
			for c := given; c < len(fields); c++ {
				if c > given {
					values = append(values, ' ')
				}
				values = append(append(values, fields[c].Name...), '=')
				switch col := &b.Cols[c]; col.Kind {
				case stream.Int64:
					values = strconv.AppendInt(values, col.Ints[i], 10)
				case stream.Float64:
					values = strconv.AppendFloat(values, col.Floats[i], 'g', -1, 64)
				default:
					values = append(values, col.Strs[i].Bytes(b.Blob)...)
				}
			}
			if err := f(id, b.Cols[2].Strs[i].Bytes(b.Blob), values); err != nil {
				return fmt.Errorf("row %d: %w", row, err)
			}
		}
		return nil
	})
}

// readReference reads the rows of a reference loop.
func (q *query) readReference(in io.Reader) (*rowSet, error) {
	rows := &rowSet{keys: map[string]uint32{}, at: map[rowID]uint32{}}
	return rows, q.eachRow(in, q.ofReference(), func(id rowID, key, values []byte) error {
		n, ok := rows.keys[string(key)]
		if !ok {
			n = uint32(len(rows.names))
			rows.names = append(rows.names, string(key))
			rows.keys[string(key)] = n
		}
		id.key = n
		if _, twice := rows.at[id]; twice {
			return fmt.Errorf("a second row for %v", rows.name(id))
		}
		rows.at[id] = uint32(len(rows.ends))
		rows.text = append(rows.text, values...)
		rows.ends = append(rows.ends, len(rows.text))
		return nil
	})
}

func (s *rowSet) name(id rowID) string {
	return fmt.Sprintf("window %d to %d, key %s, revision %d", id.start, id.end, s.names[id.key], id.revision)
}

// compare takes a job's rows and returns how many there are if they are the reference's;
// else how many differ, and one of them.
func (q *query) compare(want *rowSet, in io.Reader, plugin bool) (rows int, err error) {
	differ, example := 0, ""
	note := func(format string, args ...any) {
		if differ++; differ == 1 {
			example = fmt.Sprintf(format, args...)
		}
	}
	want.seen = slices.Grow(want.seen[:0], len(want.ends))[:len(want.ends)]
	clear(want.seen)
	err = q.eachRow(in, q.ofEngine(plugin), func(id rowID, key, values []byte) error {
		rows++
		number, known := want.keys[string(key)]
		id.key = number
		n, ok := want.at[id]
		switch {
		case !known || !ok:
			note("window %d to %d, key %s, revision %d: %s, the reference has none", id.start, id.end, key, id.revision, values)
			return nil
		case want.seen[n]:
			note("%s: a second one, %s", want.name(id), values)
		case string(want.values(n)) != string(values):
			note("%s: %s, the reference has %s", want.name(id), values, want.values(n))
		}
		want.seen[n] = true
		return nil
	})
	if err != nil {
		return 0, err
	}
	if slices.Contains(want.seen, false) {
		for id, n := range want.at {
			if !want.seen[n] {
				note("%s: missing, the reference has %s", want.name(id), want.values(n))
			}
		}
	}
	if differ > 0 {
		return 0, fmt.Errorf("%d rows, %d in the reference, differ at %d of them, such as %s", rows, len(want.ends), differ, example)
	}
	return rows, nil
}
