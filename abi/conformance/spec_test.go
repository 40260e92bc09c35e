package conformance

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/internal/wasmtest"
)

// example is a worked example of SPEC.md: a frame, the status, and what is other in it after
// the call.
type example struct {
	fn            guest.Func
	plugin, args  string
	line          int
	before, after []pieceOfFrame
	status        string
}

// pieceOfFrame is bytes at an offset.
type pieceOfFrame struct {
	at    int
	bytes []byte
}

// examples reads the blocks of SPEC.md that are marked so.
func examples(t *testing.T, text string) (all []*example) {
	t.Helper()
	var e *example
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		fail := func(err any) { t.Fatalf("SPEC.md:%d: %v: %s", n, err, line) }
		switch {
		case line == "```example":
			e = &example{line: n, fn: -1}
			all = append(all, e)
		case e == nil:
		case line == "```":
			e = nil
		case e.fn < 0:
			words := strings.SplitN(line, " ", 4)
			if e.fn = guest.Func(slices.Index(exports(), words[0])); e.fn < 0 || len(words) < 3 || words[1] != "of" {
				fail("no call of a plug-in")
			}
			e.plugin = words[2]
			if len(words) == 4 {
				e.args = strings.TrimPrefix(words[3], "with ")
			}
		case strings.HasPrefix(line, "answers "):
			e.status = strings.TrimPrefix(line, "answers ")
		default:
			data, _, ok := strings.Cut(line, "|")
			words := strings.Fields(data)
			if !ok || len(words) < 2 {
				fail("no offset, bytes, and meaning")
			}
			at, err := strconv.Atoi(words[0])
			if err != nil {
				fail(err)
			}
			b, err := hex.DecodeString(strings.Join(words[1:], ""))
			if err != nil {
				fail(err)
			}
			if e.status == "" {
				e.before = append(e.before, pieceOfFrame{at, b})
			} else {
				e.after = append(e.after, pieceOfFrame{at, b})
			}
		}
	}
	return all
}

func specText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "SPEC.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// errNotOffered: the module does not export a call that is optional.
var errNotOffered = errors.New("the call is not offered")

// run makes the call on a module, and says where what comes differs from the example.
func (e *example) run(t *testing.T, module []byte) error {
	t.Helper()
	m, _, err := load(Vectors, e.plugin)
	if err != nil {
		return err
	}
	k, err := Open(t.Context(), compiled)
	if err != nil {
		return err
	}
	defer k.Close(t.Context())
	s := &session{ctx: t.Context(), shape: shapeOf(m)}
	defer s.close()
	if s.module, err = k.compiler.Compile(t.Context(), module); err != nil {
		return err
	}
	if s.configure, err = (&parser{shape: s.shape}).begin(guest.Configure, strings.Fields(e.args)); err != nil {
		return err
	}
	start := s.fresh
	if e.fn == guest.Configure {
		start = s.renew
	}
	if err := start(); err != nil {
		return err
	}
	arena := s.inst.Arena()
	if !s.inst.Has(e.fn) {
		return errNotOffered
	}
	size := int(binary.LittleEndian.Uint32(e.before[0].bytes))
	clear(arena[:size])
	for _, p := range e.before {
		copy(arena[p.at:], p.bytes)
	}
	out, room := int(binary.LittleEndian.Uint32(arena[40:])), int(binary.LittleEndian.Uint32(arena[44:]))
	if out+room != size || room != abi.MinOutput {
		return fmt.Errorf("the output area, %d bytes at %d, does not end with the frame, at %d", room, out, size)
	}
	want := bytes.Clone(arena[:size])
	for i := range arena[out:size] {
		arena[out+i] = stale
	}
	for _, p := range e.after {
		copy(want[p.at:], p.bytes)
	}
	status, err := s.inst.Try(e.fn)
	if err != nil {
		return err
	}
	if got := [...]string{ok, refused, "OUTPUT_FULL", badFrame}[status&3]; got != e.status {
		return fmt.Errorf("answers %s, want %s", got, e.status)
	}
	got := s.inst.Arena()[:out+int(binary.LittleEndian.Uint32(want[abi.AtOutUsed:]))]
	if e.fn == guest.Create || e.fn == guest.Tick { // whether it is stored is the guest's: all are written at once; it does nothing at a tick
		copy(got[abi.AtOp:], want[abi.AtOp:abi.AtOp+4])
	}
	for i := range got {
		if got[i] != want[i] {
			from, to := i&^7, min(i&^7+16, len(got))
			return fmt.Errorf("at %d: % x, want % x", from, got[from:to], want[from:to])
		}
	}
	return nil
}

// The worked examples of SPEC.md are what the standard plug-ins answer, byte by byte, and there
// is one of every call.
func TestExamplesOfTheSpec(t *testing.T) {
	all := examples(t, specText(t))
	for fn := guest.Configure; fn <= guest.Upgrade; fn++ {
		if !slices.ContainsFunc(all, func(e *example) bool { return e.fn == fn }) {
			t.Errorf("SPEC.md has no example of %s", fn)
		}
	}
	for _, e := range all {
		t.Run(fmt.Sprintf("%s at %d", e.fn, e.line), func(t *testing.T) {
			for lang, module := range modules(t, e.plugin) {
				err := e.run(t, module)
				if errors.Is(err, errNotOffered) && e.fn == guest.Apply && lang != "go" {
					continue
				}
				if err != nil {
					t.Errorf("%s of %s in %s: %v", e.fn, e.plugin, lang, err)
				}
			}
		})
	}
}

// A guest by hand has the arena of the example of tm_arena.
func TestExampleOfTheArena(t *testing.T) {
	_, text, _ := strings.Cut(specText(t), "### `tm_arena`\n")
	_, text, _ = strings.Cut(text, "answers `0x")
	digits, _, _ := strings.Cut(text, "`")
	place, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	if source := "i64.const 0x0001_0000_0004_0000"; place != 0x0001_0000_0004_0000 || !strings.Contains(wasmtest.Text(t, "stats"), source) {
		t.Errorf("the example says %#x, the guest has no %s", place, source)
	}
	k, err := Open(t.Context(), compiled)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close(t.Context())
	m, err := k.compiler.Compile(t.Context(), wasmtest.Guest(t, "stats"))
	if err != nil {
		t.Fatal(err)
	}
	i, err := m.Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	if n := len(i.Arena()); n != int(uint32(place)) {
		t.Errorf("the arena has %d bytes", n)
	}
}

// An example with another byte anywhere is not what a plug-in answers.
func TestExamplesBite(t *testing.T) {
	all := examples(t, specText(t))
	e := all[slices.IndexFunc(all, func(e *example) bool { return e.fn == guest.Add && e.plugin == "stats" })]
	module := modules(t, "stats")["c"]
	if err := e.run(t, module); err != nil {
		t.Fatal(err)
	}
	for _, p := range e.after {
		for i := range p.bytes {
			p.bytes[i] ^= 1
			if err := e.run(t, module); err == nil {
				t.Errorf("byte %d may be another one", p.at+i)
			}
			p.bytes[i] ^= 1
		}
	}
}
