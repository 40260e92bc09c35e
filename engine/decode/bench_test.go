package decode

import (
	"bytes"
	"fmt"
	"testing"

	"tidemark/engine/job"
	"tidemark/engine/stream"
)

// The lines have the shape of workload W1: 7 fields, about 134 bytes, 3 projected.
func BenchmarkJSON(b *testing.B) {
	var in bytes.Buffer
	for i := range 1024 {
		fmt.Fprintf(&in, `{"event_time":%d,"key":"k%07d","user_id":"u%08d","amount":%d.%02d,"type":"click","seq":%d,"region":"eu-west-1"}`+"\n",
			1760000400000+i, i*7919%10000, i*104729%100000000, i%1000, i%100, i)
	}
	benchmark(b, job.Format{Kind: "json", MaxRecord: 1 << 20, MaxDepth: 64}, in.Bytes(), []job.Field{
		{Name: "event_time", Path: []string{"event_time"}, Kind: stream.Token},
		{Name: "key", Path: []string{"key"}, Kind: stream.String},
		{Name: "amount", Path: []string{"amount"}, Kind: stream.Float64},
	})
}

func BenchmarkJSONEscapes(b *testing.B) {
	var in bytes.Buffer
	for i := range 1024 {
		fmt.Fprintf(&in, `{"event_time":%d,"key":"k\u00e9\\%05d","tags":["a",{"b":[1,2.5e3,null,true]}],"text":"日本語のテキスト %d","amount":%d.%02d}`+"\n",
			1760000400000+i, i, i, i%1000, i%100)
	}
	benchmark(b, job.Format{Kind: "json", MaxRecord: 1 << 20, MaxDepth: 64}, in.Bytes(), []job.Field{
		{Name: "event_time", Path: []string{"event_time"}, Kind: stream.Token},
		{Name: "key", Path: []string{"key"}, Kind: stream.String},
		{Name: "amount", Path: []string{"amount"}, Kind: stream.Float64},
	})
}

func BenchmarkCSV(b *testing.B) {
	var in bytes.Buffer
	for i := range 1024 {
		fmt.Fprintf(&in, "%d,k%07d,u%08d,%d.%02d,click,%d,eu-west-1\n",
			1760000400000+i, i*7919%10000, i*104729%100000000, i%1000, i%100, i)
	}
	benchmark(b, job.Format{Kind: "csv", Delimiter: ',', MaxRecord: 1 << 20}, in.Bytes(), []job.Field{
		{Name: "event_time", Path: []string{"c1"}, Kind: stream.Token},
		{Name: "key", Path: []string{"c2"}, Kind: stream.String},
		{Name: "amount", Path: []string{"c4"}, Kind: stream.Float64},
	})
}

// benchmark reports the time of one record.
func benchmark(b *testing.B, f job.Format, in []byte, fields []job.Field) {
	dec, err := New(f, fields)
	if err != nil {
		b.Fatal(err)
	}
	records := bytes.Count(in, newline)
	var batch stream.Batch
	kinds := kindsOf(fields)
	b.SetBytes(int64(len(in) / records))
	b.ReportAllocs()
	for n := 0; n < b.N; n += records {
		batch.Reset(kinds)
		batch.Blob = append(batch.Blob, in...)
		if _, err := dec.Decode(&batch, 0, false, records); err != nil || batch.N != records {
			b.Fatalf("%d of %d rows, %v, first bad: %.200v", batch.N, records, err, dec.TakeBad()[:1])
		}
	}
}

func kindsOf(fields []job.Field) []stream.Kind {
	var kinds []stream.Kind
	for _, f := range fields {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}
