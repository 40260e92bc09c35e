package abi_test

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"tidemark/abi"
)

// The text is normative: every name of the package must stand in it.
func TestSpecNamesWhatIsHere(t *testing.T) {
	b, err := os.ReadFile("SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	spec := string(b)
	for _, e := range abi.Exports(true) {
		want := "`" + e.Name
		if !strings.Contains(spec, want) {
			t.Errorf("SPEC.md does not have %s", want)
		}
	}
	for k := abi.Int64; k <= abi.Timestamp; k++ {
		if want := strconv.Itoa(int(k)) + " " + k.String(); !strings.Contains(spec, want) {
			t.Errorf("SPEC.md does not say %q", want)
		}
		if got, ok := abi.ParseKind(k.String()); !ok || got != k {
			t.Errorf("kind %d is not read back", k)
		}
	}
	for _, f := range abi.WASI()[:10] {
		if !strings.Contains(spec, "`"+f.Name+"`") {
			t.Errorf("SPEC.md does not say what %s answers", f.Name)
		}
	}
}

func TestHeaderHasItsFieldsWhereTheSpecSays(t *testing.T) {
	frame := make([]byte, abi.HeaderBytes)
	for i := range frame {
		frame[i] = 0xee
	}
	h := abi.Header{Size: 1, Rows: 2, Groups: 3, Cols: 4, NumCols: 5, Group: 6, Acc: 7, From: 8, OutCols: 9, NumOuts: 10, Out: 11, OutBytes: 12}
	h.Put(frame)
	want := ""
	for i := 1; i <= 12; i++ {
		want += hex.EncodeToString([]byte{byte(i), 0, 0, 0})
	}
	want += "ffffffff" + "00000000" + "00000000" + strings.Repeat("00", 96-60)
	if got := hex.EncodeToString(frame); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFuncTypeString(t *testing.T) {
	for _, c := range []struct {
		t    abi.FuncType
		want string
	}{
		{abi.FuncType{}, "() -> ()"},
		{abi.FuncType{Params: []abi.ValType{abi.I32, abi.I64}, Results: []abi.ValType{abi.F64}}, "(i32, i64) -> f64"},
		{abi.FuncType{Results: []abi.ValType{abi.I32, 0x11}}, "() -> (i32, type 0x11)"},
	} {
		if got := c.t.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
