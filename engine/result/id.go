package result

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"hash"

	"tidemark/engine/stream"
)

// idDigits is the length of an id: the first half of a SHA-256, in hexadecimal digits.
const idDigits = 32

// ids makes the ids of a step's rows: the same for the same row in every run, and computed
// by anyone from what the row says. An id is the beginning of the SHA-256 of
//
//	head: job, step, start and end of the window in ms, each with a newline behind it, and
//	      zeros up to a multiple of the hash's block of 64 bytes
//	rest: the key as JSON, a newline, the ordinal
//
// The global window has null for start and end. A pair of an interval join has no window in
// its head, and in its rest the places of its two records, split and line, behind the key.
//
// What rows of one window share stands in front and fills blocks, so that it is hashed once
// for all of them and a row costs one block, whatever job and step are called (BenchmarkEncoder).
type ids struct {
	hash   hash.Hash
	named  []byte // job and step
	head   []byte
	once   bool   // a row has had this head
	behind []byte // the state of hash behind head; empty until a second row has it
	rest   []byte // working memory
	sum    []byte // likewise
}

func newIDs(job, step string) *ids {
	d := &ids{hash: sha256.New(), named: []byte(job + "\n" + step + "\n")}
	d.setHead(d.named)
	return d
}

// setWindow begins the rows of a window.
func (d *ids) setWindow(w stream.Window) {
	head := append(d.head[:0], d.named...)
	if w == stream.Global {
		head = append(head, "null\nnull\n"...)
	} else {
		head = append(appendInt(head, int64(w.Start)), '\n')
		head = append(appendInt(head, int64(w.End)), '\n')
	}
	d.setHead(head)
}

func (d *ids) setHead(head []byte) {
	var zeros [sha256.BlockSize]byte
	d.head = append(head, zeros[:-len(head)&(sha256.BlockSize-1)]...)
	d.once, d.behind = false, d.behind[:0]
}

// put writes the id of a row with this rest.
func (d *ids) put(dst []byte, rest []byte) {
	if len(d.behind) > 0 {
		if err := d.hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(d.behind); err != nil {
			panic("BUG: " + err.Error())
		}
	} else {
		d.hash.Reset()
		d.hash.Write(d.head)
		if d.once {
			var err error
			if d.behind, err = d.hash.(encoding.BinaryAppender).AppendBinary(d.behind); err != nil {
				panic("BUG: " + err.Error())
			}
		}
		d.once = true
	}
	d.hash.Write(rest)
	d.sum = d.hash.Sum(d.sum[:0])
	for at := 0; at < idDigits; at += 8 {
		binary.BigEndian.PutUint64(dst[at:], hexDigits(binary.BigEndian.Uint32(d.sum[at/2:])))
	}
}
