package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"tidemark/engine/decode"
	"tidemark/engine/job"
	"tidemark/engine/source"
	"tidemark/engine/stream"
	"tidemark/engine/timestamp"
	"tidemark/internal/env"
)

// Limits of the decoder, the job file's defaults; no line comes near them.
const (
	maxRecord = 1 << 20
	maxDepth  = 64
)

const (
	decodeRows  = 1024    // rows of a batch, the job file's default
	decodeBytes = 1 << 17 // read at once: near the bytes of a batch
)

// decodeOnly reads a file as a job that names these fields of lines reads it, up to the event
// time of each record, and does nothing with the records. It says on report how many there were.
func decodeOnly(file string, names []string, report io.Writer) error {
	ctx := context.Background()
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	src, err := source.NewFile(job.FileSource{Path: path, Base: filepath.Dir(path)}, env.Real(), nil)
	if err != nil {
		return err
	}
	splits, err := src.Splits(ctx) // one, since the path is no pattern
	if err != nil {
		return err
	}
	reader, err := src.Open(ctx, splits[0], 0)
	if err != nil {
		return err
	}
	defer reader.Close()
	var fields []job.Field
	for _, name := range names {
		kind := stream.String
		if name == "amount" {
			kind = stream.Float64
		}
		fields = append(fields, job.Field{Name: name, Path: []string{name}, Kind: kind})
	}
	at := len(fields)
	fields = append(fields, job.Field{Name: "time", Path: []string{"event_time"}, Kind: stream.Token})
	assigner, err := timestamp.New(job.TimeSpec{Path: []string{"event_time"}, Unit: "ms"})
	if err != nil {
		return err
	}
	records, highest := 0, stream.MinTime
	err = eachBatch(reader, fields, func(b *stream.Batch) error {
		for _, token := range b.Cols[at].Strs {
			t, err := assigner.Parse(token.Bytes(b.Blob))
			if err != nil {
				return err
			}
			highest = max(highest, t)
		}
		records += b.N
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(report, "%d records, highest event time %d\n", records, highest)
	return err
}

// eachBatch decodes lines of JSON to these fields and calls f for each batch of them, which
// is borrowed. A line that is not as it should be is an error.
func eachBatch(in io.Reader, fields []job.Field, f func(*stream.Batch) error) error {
	decoder, err := decode.New(job.Format{Kind: "json", MaxRecord: maxRecord, MaxDepth: maxDepth}, fields)
	if err != nil {
		return err
	}
	var kinds []stream.Kind
	for _, field := range fields {
		kinds = append(kinds, field.Kind)
	}
	var batch stream.Batch
	var rest []byte // read and not yet decoded
	for final := false; !final || len(rest) > 0; {
		batch.Reset(kinds)
		batch.Blob = append(batch.Blob, rest...)
		if at := len(batch.Blob); !final && at < decodeBytes {
			// Up to there and no further: short lines fill the rows of a batch before its bytes.
			batch.Blob = slices.Grow(batch.Blob, decodeBytes-at)
			n, err := in.Read(batch.Blob[at:decodeBytes])
			batch.Blob = batch.Blob[:at+n]
			if errors.Is(err, io.EOF) {
				final = true
			} else if err != nil {
				return err
			}
		}
		end := len(batch.Blob)
		consumed, err := decoder.Decode(&batch, 0, final, decodeRows)
		if err != nil {
			return err
		}
		if bad := decoder.TakeBad(); len(bad) > 0 {
			return fmt.Errorf("line %d: %s", bad[0].Line, bad[0].Message)
		}
		if consumed == 0 && end == decodeBytes {
			return fmt.Errorf("a line is longer than %d bytes", decodeBytes)
		}
		if err := f(&batch); err != nil {
			return err
		}
		rest = append(rest[:0], batch.Blob[consumed:end]...)
	}
	return nil
}
