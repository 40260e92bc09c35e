package job

import (
	"path/filepath"
	"testing"
)

func TestEpochFiles(t *testing.T) {
	for _, c := range []struct {
		path  string
		epoch uint64
		want  string
	}{
		{"out/rows.jsonl", 12, "out/rows-000012.jsonl"},
		{"rows", 1, "rows-000001"},
		{"/a.b/rows", 1, "/a.b/rows-000001"},
		{"my.rows.v2.jsonl", 999_999, "my.rows.v2-999999.jsonl"},
		{"rows.jsonl.gz", 3, "rows-000003.jsonl.gz"},
		{"rows.tar.zst", 3, "rows-000003.tar.zst"},
		{"rows.gz", 3, "rows-000003.gz"},
		{".rows", 3, ".rows-000003"},
		{".rows.jsonl", 3, ".rows-000003.jsonl"},
		{".gz", 3, ".gz-000003"},
		{"rows-000001.jsonl", 3, "rows-000001-000003.jsonl"},
		{"rows.jsonl", 1_234_567, "rows-1234567.jsonl"},
	} {
		got := EpochFile(c.path, c.epoch)
		if got != c.want {
			t.Errorf("%s, epoch %d: %s, want %s", c.path, c.epoch, got, c.want)
		}
		if n, ok := EpochOf(c.path, filepath.Base(got)); n != c.epoch || !ok {
			t.Errorf("%s of %s: epoch %d, %v", got, c.path, n, ok)
		}
	}
	for _, name := range []string{"rows.jsonl", "rows-1.jsonl", "rows-0000012.jsonl", "rows-000000.jsonl", "rows-00001x.jsonl", "rows-+00001.jsonl", "rows-000001.csv", "rows-000001", "rows000001.jsonl", "rows-99999999999999999999.jsonl"} {
		if n, ok := EpochOf("rows.jsonl", name); ok {
			t.Errorf("%s is epoch %d of rows.jsonl", name, n)
		}
	}
}
