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

// decodeOnly reads a file as the workload's job reads it, up to the event time of
// each record, and does nothing with the records. It says on report how many there
// were.
func decodeOnly(file string, report io.Writer) error {
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
	fields := []job.Field{
		{Name: "key", Path: []string{"key"}, Kind: stream.String},
		{Name: "amount", Path: []string{"amount"}, Kind: stream.Float64},
		{Name: "time", Path: []string{"event_time"}, Kind: stream.Token},
	}
	decoder, err := decode.New(job.Format{Kind: "json", MaxRecord: maxRecord, MaxDepth: maxDepth}, fields)
	if err != nil {
		return err
	}
	assigner, err := timestamp.New(job.TimeSpec{Path: []string{"event_time"}, Unit: "ms"})
	if err != nil {
		return err
	}
	var batch stream.Batch
	var rest []byte // read and not yet decoded
	records, highest, final := 0, stream.MinTime, false
	for {
		batch.Reset([]stream.Kind{stream.String, stream.Float64, stream.Token})
		batch.Blob = append(batch.Blob, rest...)
		if !final {
			at := len(batch.Blob)
			batch.Blob = slices.Grow(batch.Blob, decodeBytes)
			n, err := reader.Read(batch.Blob[at : at+decodeBytes])
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
		if bad := decoder.Bad(); len(bad) > 0 {
			return fmt.Errorf("line %d: %s", bad[0].Line, bad[0].Message)
		}
		for _, token := range batch.Cols[2].Strs {
			t, err := assigner.Parse(token.Bytes(batch.Blob))
			if err != nil {
				return err
			}
			highest = max(highest, t)
		}
		records += batch.N
		rest = append(rest[:0], batch.Blob[consumed:end]...)
		if final && len(rest) == 0 {
			break
		}
	}
	fmt.Fprintf(report, "%d records, highest event time %d\n", records, highest)
	return nil
}
