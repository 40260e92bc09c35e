package configs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The expected rows hold for these bytes of data and no others.
func TestDataIsWhatItsReadmeSays(t *testing.T) {
	readme, err := os.ReadFile("data/README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^([0-9a-f]{64})  (\S+)$`).FindAllStringSubmatch(string(readme), -1) {
		want[m[2]] = m[1]
	}
	files, err := filepath.Glob("data/*.gz")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(want) {
		t.Errorf("%d data files, the README has the sums of %d", len(files), len(want))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:]); got != want[filepath.Base(file)] {
			t.Errorf("%s has the SHA-256 %s, the README says %q", file, got, want[filepath.Base(file)])
		}
	}
}
