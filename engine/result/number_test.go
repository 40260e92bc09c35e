package result

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestIntegers(t *testing.T) {
	check := func(n int64) {
		if got := string(appendInt([]byte("x"), n)); got != fmt.Sprint("x", n) {
			t.Fatalf("%d is written as %s", n, got)
		}
		if got := string(appendUint(nil, uint64(n))); got != fmt.Sprint(uint64(n)) {
			t.Fatalf("%d is written as %s", uint64(n), got)
		}
	}
	for shift := range 64 {
		for d := int64(-1); d <= 1; d++ {
			check(1<<shift + d)
		}
	}
	for p := int64(1); ; p *= 10 {
		for d := int64(-1); d <= 1; d++ {
			check(p + d)
			check(-p + d)
		}
		if p == 1e18 {
			break
		}
	}
	for range 100_000 {
		check(rand.Int64() >> rand.IntN(64))
	}
}

func TestHexDigits(t *testing.T) {
	for i := range 100_000 {
		n := rand.Uint32()
		if i < 16 {
			n = uint32(i) * 0x11111111
		}
		if got, want := hexDigits(n), fmt.Sprintf("%08x", n); string(binary.BigEndian.AppendUint64(nil, got)) != want {
			t.Fatalf("%s is written as %x", want, got)
		}
	}
}

func BenchmarkAppendUint(b *testing.B) {
	for _, n := range []uint64{7, 299, 150262, 1760000400000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var buf [32]byte
			for b.Loop() {
				appendUint(buf[:0], n)
			}
		})
		b.Run(fmt.Sprint(n, " strconv"), func(b *testing.B) {
			var buf [32]byte
			for b.Loop() {
				strconv.AppendUint(buf[:0], n, 10)
			}
		})
	}
}

// checkFloat compares with encoding/json, which searches for the shortest decimal.
func checkFloat(t *testing.T, f float64) {
	t.Helper()
	want, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(appendFloat(nil, f)); got != string(want) {
		t.Fatalf("%g (bits %#x): got %s, encoding/json %s", f, math.Float64bits(f), got, want)
	}
}

// around checks f, its neighbours, and all of them negative.
func around(t *testing.T, f float64) {
	t.Helper()
	for _, g := range []float64{f, math.Nextafter(f, math.Inf(-1)), math.Nextafter(f, math.Inf(1))} {
		if !math.IsInf(g, 0) {
			checkFloat(t, g)
			checkFloat(t, -g)
		}
	}
}

func TestFloatsAreTheShortestThatReadBack(t *testing.T) {
	for _, f := range []float64{0, 0.1, 0.5, 1, 1e21, 1e20, 1e-6, 1e-7, 123456789.125, math.MaxFloat64, 5e-324, 1 << 53, 0.1 + 0.2} {
		around(t, f)
	}
	for e := -8.; e <= 22; e++ { // where the ways of writing meet
		for _, m := range []float64{1, 9.99, 9.999, 9.9995, 4.503599627370496, 5.0005} {
			around(t, m*math.Pow(10, e))
		}
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for range 100_000 {
		scale := math.Pow(10, float64(r.IntN(6))) // up to five places
		n := r.Int64N(1e15) >> r.IntN(50)
		f := float64(n) / scale
		around(t, f)
		checkFloat(t, f+float64(r.Int64N(1000))/1000) // a sum that is not the nearest to its decimal
		if g := math.Float64frombits(r.Uint64()); !math.IsNaN(g) && !math.IsInf(g, 0) {
			checkFloat(t, g)
		}
	}
}

func FuzzFloatsAreTheShortestThatReadBack(f *testing.F) {
	f.Add(math.Float64bits(12.25))
	f.Fuzz(func(t *testing.T, bits uint64) {
		if v := math.Float64frombits(bits); !math.IsNaN(v) && !math.IsInf(v, 0) {
			checkFloat(t, v)
		}
	})
}

func BenchmarkAppendFloat(b *testing.B) {
	for name, f := range map[string]float64{"quarter": 150262.25, "cents": 129.99, "any": 1.0 / 3} {
		b.Run(name, func(b *testing.B) {
			var buf [32]byte
			for b.Loop() {
				appendFloat(buf[:0], f)
			}
		})
		b.Run(name+" strconv", func(b *testing.B) {
			var buf [32]byte
			for b.Loop() {
				strconv.AppendFloat(buf[:0], f, 'f', -1, 64)
			}
		})
	}
}

func TestAResultThatIsNoNumberIsOurBug(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%g was written", f)
				}
			}()
			appendFloat(nil, f)
		}()
	}
}
