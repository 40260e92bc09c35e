package abi_test

import (
	"encoding/binary"
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
	for _, e := range abi.Exports(&abi.Manifest{Aggregate: &abi.Aggregate{}, Process: &abi.Process{}, Pair: &abi.Pair{}, Generator: &abi.Generator{}, Map: &abi.Map{}, Trigger: &abi.Trigger{}, Assigner: &abi.Assigner{}}) {
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
	h := abi.Header{Size: 1, Rows: 2, Groups: 3, Cols: 4, NumCols: 5, Group: 6, Acc: 7, From: 8, OutCols: 9, NumOuts: 10, Out: 11, OutBytes: 12, Block: 13}
	h.Put(frame)
	want := ""
	for i := 1; i <= 12; i++ {
		want += hex.EncodeToString([]byte{byte(i), 0, 0, 0})
	}
	want += "ffffffff" + "00000000" + "00000000" + "0d000000" + strings.Repeat("00", 96-64)
	if got := hex.EncodeToString(frame); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFramesOfFiringsAndPairsAreAsTheSpecSays(t *testing.T) {
	word := func(v uint32) string { return hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, v)) }
	b := make([]byte, abi.BlockBytes)
	block := abi.Block{Items: 1, Keys: 2, NumKeys: 3, Windows: 4, NumWindows: 5, Lists: [2]abi.List{{Rows: 7, Cols: 8, NumCols: 9}, {Rows: 10, Cols: 11, NumCols: 12}}}
	block.Put(b)
	want := ""
	for i := range uint32(12) {
		if v := i + 1; v == 6 {
			want += word(0)
		} else {
			want += word(v)
		}
	}
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("block: got  %s\nwant %s", got, want)
	}
	b = make([]byte, abi.FiringBytes)
	f := abi.Firing{Start: 1, End: 2, Watermark: 3, Now: -1, Key: 5, Window: abi.NoSlot, Revision: 7, From: [2]uint32{9, 11}, To: [2]uint32{10, 12}}
	f.Put(b)
	want = word(1) + word(0) + word(2) + word(0) + word(3) + word(0) + "ffffffffffffffff" + word(5) + "ffffffff" + word(7) + word(0) + word(9) + word(10) + word(11) + word(12)
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("firing: got  %s\nwant %s", got, want)
	}
	b = make([]byte, abi.PairBytes)
	p := abi.PairRow{Left: 1, Right: 2, Time: -1}
	p.Put(b)
	if got, want := hex.EncodeToString(b), word(1)+word(2)+"ffffffffffffffff"; got != want {
		t.Errorf("pair: got  %s\nwant %s", got, want)
	}
	b = make([]byte, abi.PaneOpBytes)
	o := abi.PaneOp{Start: 1, End: 2, Watermark: 3, Now: -1, Time: 5, What: 6, Slot: 7, Row: 8, From: 9, Flags: abi.Ending}
	o.Put(b)
	want = word(1) + word(0) + word(2) + word(0) + word(3) + word(0) + "ffffffffffffffff" + word(5) + word(0) + word(6) + word(7) + word(8) + word(9) + word(1) + word(0)
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("operation: got  %s\nwant %s", got, want)
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
