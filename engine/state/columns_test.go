package state

import (
	"errors"
	"reflect"
	"testing"

	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

var columnKinds = []stream.Kind{stream.Int64, stream.Float64, stream.Bool, stream.String, stream.Timestamp}

// table has a row of values for each string, and after each a row of nulls.
func table(texts ...string) *stream.Columns {
	c := new(stream.Columns)
	c.Reset(columnKinds)
	for i, text := range texts {
		c.Cols[0].AppendInt(int64(-i))
		c.Cols[1].AppendFloat(float64(i) / 3)
		c.Cols[2].AppendBool(i%2 == 0)
		c.Cols[3].AppendStr(stream.Str{Off: uint32(len(c.Blob)), Len: uint32(len(text))})
		c.Blob = append(c.Blob, text...)
		c.Cols[4].AppendInt(int64(i) << 40)
		for n := range c.Cols {
			c.Cols[n].AppendNull()
		}
		c.N += 2
	}
	return c
}

func TestATableReadsBack(t *testing.T) {
	many := make([]string, 100) // more rows than a word of the bitmap has bits
	for i := range many {
		many[i] = string(rune('a' + i%26))
	}
	plain := new(stream.Columns)
	plain.Reset(columnKinds[:1])
	plain.Cols[0].AppendInt(7)
	plain.N = 1
	for name, c := range map[string]*stream.Columns{"no rows": table(), "nulls": table("", "ü", "text"), "many rows": table(many...), "no nulls": plain, "no columns": {N: 3}} {
		var w Writer
		w.Columns(c)
		var got stream.Columns
		kinds := make([]stream.Kind, len(c.Cols))
		for i := range kinds {
			kinds[i] = c.Cols[i].Kind
		}
		got.Reset(kinds)
		r := NewReader(w.Buf)
		r.Columns(&got)
		if err := r.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.N != c.N {
			t.Errorf("%s: %d rows, want %d", name, got.N, c.N)
		}
		for n := range c.Cols {
			for i := range c.N {
				if want, have := value(c, n, i), value(&got, n, i); !reflect.DeepEqual(want, have) {
					t.Errorf("%s: column %d row %d: %v, want %v", name, n, i, have, want)
				}
			}
		}
		var own stream.Columns
		r = NewReader(w.Buf)
		if r.OwnColumns(&own); r.Err() != nil || own.N != got.N || !reflect.DeepEqual(own.Cols, got.Cols) || string(own.Blob) != string(got.Blob) {
			t.Errorf("%s: with its own columns %+v, %v, want %+v", name, own, r.Err(), got)
		}
	}
}

func value(c *stream.Columns, n, i int) any {
	col := &c.Cols[n]
	if col.Null(i) {
		return nil
	}
	switch col.Kind {
	case stream.Int64, stream.Timestamp:
		return col.Ints[i]
	case stream.Float64:
		return col.Floats[i]
	case stream.Bool:
		return col.Bools[i]
	default:
		return string(col.Strs[i].Bytes(c.Blob))
	}
}

func TestADamagedTableIsAnError(t *testing.T) {
	var w Writer
	w.Columns(table("a", "bc"))
	for n := range w.Buf {
		var c stream.Columns
		c.Reset(columnKinds)
		r := NewReader(w.Buf[:n])
		if r.Columns(&c); !errors.Is(r.Err(), fault.ErrCorrupt) {
			t.Errorf("%d bytes of %d: %v", n, len(w.Buf), r.Err())
		}
		r = NewReader(w.Buf[:n])
		if r.OwnColumns(new(stream.Columns)); !errors.Is(r.Err(), fault.ErrCorrupt) {
			t.Errorf("%d bytes of %d, with its own columns: %v", n, len(w.Buf), r.Err())
		}
	}
	for name, kinds := range map[string][]stream.Kind{"fewer columns": columnKinds[:4], "other columns": {stream.Float64, stream.Float64, stream.Bool, stream.String, stream.Timestamp}} {
		var c stream.Columns
		c.Reset(kinds)
		r := NewReader(w.Buf)
		if r.Columns(&c); !errors.Is(r.Err(), fault.ErrCorrupt) {
			t.Errorf("%s: %v", name, r.Err())
		}
	}
}
