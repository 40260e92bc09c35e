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
	state  []byte // likewise
}

// stateAt is where in the state of a SHA-256, as its package writes it, the eight words of
// the hash begin: behind a mark of four bytes.
const stateAt = 4

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

// put writes the id of a row with this rest, which it may append to.
//
// The rest is padded here as the hash would do it, so that it is whole blocks, behind which
// the state is the hash: Sum would copy the state and the rest before it comes to that
// (BenchmarkEncoder). What an id is, the tests compute by crypto/sha256 alone.
func (d *ids) put(dst []byte, rest []byte) {
	if len(d.behind) > 0 {
		if err := d.hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(d.behind); err != nil {
			panic("BUG: " + err.Error())
		}
	} else {
		d.hash.Reset()
		d.hash.Write(d.head)
		if d.once {
			d.behind = d.appendState(d.behind)
		}
		d.once = true
	}
	d.rest = pad(rest, len(d.head))
	d.hash.Write(d.rest)
	d.state = d.appendState(d.state[:0])
	sum := d.state[stateAt:]
	for at := 0; at < idDigits; at += 8 {
		binary.BigEndian.PutUint64(dst[at:], hexDigits(binary.BigEndian.Uint32(sum[at/2:])))
	}
}

func (d *ids) appendState(dst []byte) []byte {
	dst, err := d.hash.(encoding.BinaryAppender).AppendBinary(dst)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return dst
}

// pad ends a message of which before bytes, whole blocks, are hashed already: a bit, zeros,
// and the length in bits.
func pad(rest []byte, before int) []byte {
	length := uint64(before+len(rest)) * 8
	rest = append(rest, 0x80)
	var zeros [sha256.BlockSize]byte
	rest = append(rest, zeros[:-(len(rest)+8)&(sha256.BlockSize-1)]...)
	return binary.BigEndian.AppendUint64(rest, length)
}
