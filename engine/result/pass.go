package result

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"tidemark/engine/stream"
)

// PassEncoder writes the records that a step without a window passes on: their fields as
// the value, and their time. The id is a hash of job, step and the place that the record
// was read at, so that it is the same in every run.
type PassEncoder struct {
	job, step string
	split     func(stream.SplitID) string
	value     object
}

// NewPassEncoder makes an encoder for records with these fields.
func NewPassEncoder(job, step string, fields []stream.Field, split func(stream.SplitID) string) *PassEncoder {
	return &PassEncoder{job: job, step: step, split: split, value: newObject(names(fields))}
}

// Append appends row i of b with its newline.
func (e *PassEncoder) Append(dst []byte, b *stream.Batch, i int, f TimeFormat) []byte {
	text := fmt.Appendf(nil, "%s\n%s\n%s\n%d", e.job, e.step, e.split(b.Split[i]), b.Pos[i])
	sum := sha256.Sum256(text)
	dst = append(dst, `{"id":"`...)
	dst = hex.AppendEncode(dst, sum[:16])
	dst = append(dst, '"')
	dst = appendMember(dst, "step")
	dst = appendText(dst, e.step)
	dst = append(dst, `,"key":null,"window":null,"revision":0`...)
	dst = appendMember(dst, "time")
	dst = appendTime(dst, b.Time[i], f)
	dst = appendMember(dst, "value")
	dst = e.value.append(dst, &b.Columns, i, f)
	return append(dst, '}', '\n')
}
