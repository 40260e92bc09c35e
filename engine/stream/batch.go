package stream

import (
	"encoding/binary"
	"sync/atomic"
)

// Batch carries records of one sender, in order, as columns (engine rule T1). It
// has no meaning of its own: cut elsewhere, the same records give the same rows.
//
// A batch has one owner at a time; sending it hands it over. All of its slices,
// the blob included, belong to it and are reused once its last owner is done.
type Batch struct {
	Columns // the fields that the job names

	Source SourceID
	// Input is the number of the reader's input that the batch came in at, set by the
	// exchange: 0 is the left side of a join and 1 the right one, whatever the source.
	Input uint8
	Split []SplitID // which split a row was read from
	Pos   []int64   // place of the row in its split: line number from 1 for files
	Raw   []Str     // the record as it was read, in Blob: for late and failed output

	Time []Time // event time
	// WM is the sender's watermark before each row: it does not go down. It is a
	// plain column, not run-length coded: in the common setting (after every
	// record) it steps at every second row, and segments are cut at any row.
	WM   []Time
	High []Time // highest event time seen in the row's split, the row included

	// Trailing is the sender's watermark after the last row. A batch without rows
	// carries just that.
	Trailing Time
	// Status is a change of the sender between idle and active. Only a batch without
	// rows has one: going idle comes behind Trailing, coming back before it (S69).
	Status Status
	// Barrier is the number of a checkpoint, 0 for none: what the sender has sent before it
	// belongs to the cut, what comes behind it does not. Only a batch without rows, status
	// and watermark has one.
	Barrier uint64
	// Drained: the trailing watermark, MAX, does not say that the input has come to its end,
	// but that no more of it is read.
	Drained bool
	// Next is the split that the sender reads next, at Trailing: with it the place
	// of the sender in the order of an ordered replay (T6).
	Next SplitID
	// NextPos is the least place in that split that the sender's next row can have.
	NextPos int64

	// Partial: the rows are no records but sums of some, made by their sender (P4). They
	// have keys and no columns; Raw holds the sums, which package window writes and reads,
	// and Time lies in the slice that they are of.
	Partial bool

	// Tie orders rows of a step that stand at the same watermark, in an ordered replay:
	// bytes in Blob, from AppendTie. Rows of sources have none; their split decides.
	Tie []Str

	// Key and Hash are set when the batch is routed by key: the encoded key
	// (see AppendKey) in Blob, and its hash.
	Key  []Str
	Hash []uint64

	whole  *Batch       // that this is a share of; nil: of none
	shares atomic.Int32 // of this one that are in use
}

// Status is a change between idle and active.
type Status uint8

const (
	Same Status = iota
	BecameIdle
	BecameActive
)

// SourceID numbers the sources of a job, in the order of the job file.
type SourceID uint16

// SplitID numbers the splits of a job; it is the same in every run over the same
// input, so that it can decide ties in an ordered replay.
type SplitID uint32

// LastSplit is the split id of a sender that has ended: behind all others.
const LastSplit SplitID = ^SplitID(0)

// Reset empties the batch for reuse and gives it columns of these kinds.
func (b *Batch) Reset(kinds []Kind) {
	b.Columns.Reset(kinds)
	b.Split, b.Pos, b.Raw = b.Split[:0], b.Pos[:0], b.Raw[:0]
	b.Time, b.WM, b.High = b.Time[:0], b.WM[:0], b.High[:0]
	b.Key, b.Hash, b.Tie = b.Key[:0], b.Hash[:0], b.Tie[:0]
	b.Trailing, b.Next, b.NextPos, b.Status, b.Barrier, b.Drained, b.Input, b.Partial = MinTime, 0, 0, Same, 0, false, 0, false
}

// Follow gives b the sender, the progress and the status of src: b is made of its rows.
func (b *Batch) Follow(src *Batch) {
	b.Source, b.Input = src.Source, src.Input
	b.Trailing, b.Next, b.NextPos, b.Status, b.Barrier, b.Drained = src.Trailing, src.Next, src.NextPos, src.Status, src.Barrier, src.Drained
}

// AppendRow copies row i of src, blob pieces included, to the end of b, which
// must have the same columns. Called per record where batches are split by key
// or merged by time.
func (b *Batch) AppendRow(src *Batch, i int) {
	b.Columns.AppendRow(&src.Columns, i)
	b.Split = append(b.Split, src.Split[i])
	b.Pos = append(b.Pos, src.Pos[i])
	b.Raw = append(b.Raw, b.copyStr(&src.Columns, src.Raw[i]))
	b.Time = append(b.Time, src.Time[i])
	b.WM = append(b.WM, src.WM[i])
	b.High = append(b.High, src.High[i])
	if len(src.Tie) > 0 {
		b.Tie = append(b.Tie, b.copyStr(&src.Columns, src.Tie[i]))
	}
	if len(src.Key) > 0 {
		b.Key = append(b.Key, b.copyStr(&src.Columns, src.Key[i]))
		b.Hash = append(b.Hash, src.Hash[i])
	}
}

// Keep drops all rows but those given, in ascending order: a row can turn out to be
// unusable only after it was decoded. Only what a decoder fills is kept.
func (b *Batch) Keep(rows []uint32) {
	for c := range b.Cols {
		col := &b.Cols[c]
		valid := col.Valid
		if valid != nil {
			col.Valid = make(Bits, 0, len(valid))
		}
		for n, r := range rows {
			switch col.Kind {
			case Int64, Timestamp:
				col.Ints[n] = col.Ints[r]
			case Float64:
				col.Floats[n] = col.Floats[r]
			case Bool:
				col.Bools[n] = col.Bools[r]
			default:
				col.Strs[n] = col.Strs[r]
			}
			if valid != nil {
				col.Valid = col.Valid.Append(n, valid.Get(int(r)))
			}
		}
		col.Truncate(len(rows))
	}
	b.N, b.Raw, b.Pos = len(rows), keep(b.Raw, rows), keep(b.Pos, rows)
}

// KeepWhole is Keep for a batch on its way, whose rows have all that a row has.
func (b *Batch) KeepWhole(rows []uint32) {
	b.Keep(rows)
	b.Split, b.Time, b.WM, b.High = keep(b.Split, rows), keep(b.Time, rows), keep(b.WM, rows), keep(b.High, rows)
	b.Tie, b.Key, b.Hash = keep(b.Tie, rows), keep(b.Key, rows), keep(b.Hash, rows)
}

// keep is Keep for one of the things that rows have, or for none of it.
func keep[T any](s []T, rows []uint32) []T {
	if len(s) == 0 {
		return s
	}
	for n, r := range rows {
		s[n] = s[r]
	}
	return s[:len(rows)]
}

// AppendTie appends bytes that compare like (end of the window, key): the order in which
// rows of a step follow each other at one watermark (T6).
func AppendTie(dst []byte, end Time, key []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(end)^1<<63)
	return append(dst, key...)
}
