package stream

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"
)

// A key is a tuple of fields, encoded as bytes that are equal exactly if the
// tuples are. The encoding is stored in checkpoints and decides where a key's
// state lives: it never changes.
//
//	a single string field    its UTF-8 bytes; null is the byte 0xFF, which no
//	                         valid UTF-8 holds
//	anything else            for each field a byte 0 (null) or 1 (value follows),
//	                         then int64, timestamp: 8 bytes little endian;
//	                         float64: its IEEE 754 bits likewise, -0 as 0;
//	                         bool: one byte; string: uint32 length, bytes
//
// The single string is by far the most common key and needs no copy in this
// form: the record's own text is the key.

const nullKey = 0xFF

// KeyHash is the hash of an encoded key: XXH64 with seed 0. Stored (through the
// key groups): never change.
func KeyHash(key []byte) uint64 { return xxhash.Sum64(key) }

// KeyGroup maps a key's hash to one of max_parallelism key groups, the unit in
// which state moves between subtasks.
func KeyGroup(hash uint64, maxParallelism int) int { return int(hash % uint64(maxParallelism)) }

// Subtask returns which of parallelism subtasks owns a key group: groups are
// dealt out in contiguous ranges.
func Subtask(group, parallelism, maxParallelism int) int {
	return group * parallelism / maxParallelism
}

// SetKeys fills Key and Hash from the columns with the given numbers. No columns
// means one constant key (S98). Partials have their keys, and get hashes.
func (b *Batch) SetKeys(cols []int) {
	switch {
	case b.N == 0:
		b.Key = b.Key[:0]
	case b.Partial: // who made the sums has set their keys
	case len(cols) == 1 && b.Cols[cols[0]].Kind == String:
		c := &b.Cols[cols[0]]
		b.Key = append(b.Key[:0], c.Strs...)
		if c.Valid != nil {
			null := Str{uint32(len(b.Blob)), 1}
			b.Blob = append(b.Blob, nullKey)
			for i := range b.N {
				if !c.Valid.Get(i) {
					b.Key[i] = null
				}
			}
		}
	default:
		b.Key = b.Key[:0]
		for i := range b.N {
			off := len(b.Blob)
			for _, n := range cols {
				b.Blob = appendKeyField(b.Blob, &b.Cols[n], i)
			}
			b.Key = append(b.Key, Str{uint32(off), uint32(len(b.Blob) - off)})
		}
	}
	b.Hash = b.Hash[:0]
	for _, k := range b.Key {
		b.Hash = append(b.Hash, KeyHash(k.Bytes(b.Blob)))
	}
}

// appendKeyField appends one field of a key. c's text must lie in dst, the blob
// that is appended to.
func appendKeyField(dst []byte, c *Column, i int) []byte {
	if c.Null(i) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch c.Kind {
	case Int64, Timestamp:
		return binary.LittleEndian.AppendUint64(dst, uint64(c.Ints[i]))
	case Float64:
		f := c.Floats[i]
		if f == 0 {
			f = 0 // -0 and 0 are one key, as they are equal
		}
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
	case Bool:
		if c.Bools[i] {
			return append(dst, 1)
		}
		return append(dst, 0)
	default:
		s := c.Strs[i]
		dst = binary.LittleEndian.AppendUint32(dst, s.Len)
		return append(dst, dst[s.Off:s.Off+s.Len]...)
	}
}

// DecodeKey appends the fields of an encoded key as one row to cols, which have
// the key's kinds, and text to blob, which it returns. A malformed key is a bug
// of ours (keys are made by SetKeys) or a damaged checkpoint; the caller decides.
func DecodeKey(key []byte, cols []Column, blob []byte) ([]byte, error) {
	if len(cols) == 1 && cols[0].Kind == String {
		if len(key) == 1 && key[0] == nullKey {
			cols[0].AppendNull()
			return blob, nil
		}
		cols[0].AppendStr(Str{uint32(len(blob)), uint32(len(key))})
		return append(blob, key...), nil
	}
	rest := key
	take := func(n int) []byte {
		if rest == nil || len(rest) < n {
			rest = nil
			return nil
		}
		p := rest[:n]
		rest = rest[n:]
		return p
	}
	for i := range cols {
		c := &cols[i]
		tag := take(1)
		if tag == nil {
			return blob, fmt.Errorf("key of %d bytes ends before field %d", len(key), i)
		}
		if tag[0] == 0 {
			c.AppendNull()
			continue
		}
		switch c.Kind {
		case Int64, Timestamp:
			if p := take(8); p != nil {
				c.AppendInt(int64(binary.LittleEndian.Uint64(p)))
			}
		case Float64:
			if p := take(8); p != nil {
				c.AppendFloat(math.Float64frombits(binary.LittleEndian.Uint64(p)))
			}
		case Bool:
			if p := take(1); p != nil {
				c.AppendBool(p[0] != 0)
			}
		default:
			if p := take(4); p != nil {
				n := binary.LittleEndian.Uint32(p)
				if s := take(int(n)); s != nil || n == 0 {
					c.AppendStr(Str{uint32(len(blob)), n})
					blob = append(blob, s...)
				}
			}
		}
		if rest == nil {
			return blob, fmt.Errorf("key of %d bytes ends inside field %d", len(key), i)
		}
	}
	if len(rest) > 0 {
		return blob, fmt.Errorf("key of %d bytes has %d bytes left over", len(key), len(rest))
	}
	return blob, nil
}

// KeyHasNull reports whether a field of an encoded key is null. fields has the kinds
// of the key's fields.
func KeyHasNull(key []byte, fields []Field) bool {
	if len(fields) == 1 && fields[0].Kind == String {
		return len(key) == 1 && key[0] == nullKey
	}
	for _, f := range fields {
		if key[0] == 0 {
			return true
		}
		key = key[1:]
		switch f.Kind {
		case Bool:
			key = key[1:]
		case String:
			key = key[4+binary.LittleEndian.Uint32(key):]
		default:
			key = key[8:]
		}
	}
	return false
}
