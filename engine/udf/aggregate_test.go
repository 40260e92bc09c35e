package udf

import (
	"bytes"
	"testing"
)

func TestAccsOfAKnownNumberAreSetOneByOne(t *testing.T) {
	for _, width := range []int{8, 16, 40} {
		var set, appended Accs
		set.Reset(width)
		set.Append(bytes.Repeat([]byte{9}, width)) // what is left from before
		set.Resize(width, 3)
		appended.Reset(width)
		for i := range 3 {
			acc := make([]byte, width)
			for n := range acc {
				acc[n] = byte(100*i + n)
			}
			set.Set(i, acc)
			appended.Append(acc)
		}
		if set.N() != 3 || !bytes.Equal(set.Data, appended.Data) {
			t.Errorf("width %d: set % x, appended % x", width, set.Data, appended.Data)
		}
	}
}
