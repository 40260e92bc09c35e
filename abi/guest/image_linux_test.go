package guest_test

import (
	"os"
	"testing"
)

// Descriptors of images are given back.
func TestImagesGiveBackWhatTheyHold(t *testing.T) {
	open := func() int {
		d, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(d)
	}
	m := compile(t, slow(t, larger...))
	i := configured(t, m, 1)
	before := open()
	for range 50 {
		img, ok := i.Capture()
		if !ok {
			t.Fatal("no image")
		}
		x, err := img.Instantiate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		img.Close()
		x.Close()
	}
	if after := open(); after > before {
		t.Errorf("%d descriptors, and %d before", after, before)
	}
}
