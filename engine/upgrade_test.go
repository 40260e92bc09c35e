package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// renewing is a generator that converts from schema 1.
type renewing struct{ udf.Generator }

func (renewing) Former(schema uint32) (int, bool) { return 0, schema == 1 }

func (renewing) Upgrade(what udf.Kept, schema uint32, states [][]byte) (out [][]byte, err error) {
	for _, s := range states {
		if string(s) == "bad" {
			return nil, fault.As(fault.ErrGuest, errors.New("no such state"))
		}
		out = append(out, fmt.Appendf(nil, "%d %d %s", what, schema, s))
	}
	return out, nil
}

// What a plug-in kept of a split is converted when its schema was another one.
func TestStatesOfSplitsAreUpgraded(t *testing.T) {
	for _, row := range []struct {
		name string
		fn   udf.Generator
		was  uint32 // 0: as now
		own  string
		want string
		err  string
		of   error
	}{
		{"another schema", renewing{}, 1, "x", "3 1 x", "", nil},
		{"the same schema", renewing{}, 0, "x", "x", "", nil},
		{"nothing is kept", renewing{}, 1, "", "", "", nil},
		{"a schema that it does not convert", renewing{}, 2, "x", "x", "its state has schema 2, and the module does not convert from that", fault.ErrUser},
		{"a generator that converts nothing", struct{ udf.Generator }{}, 1, "x", "x", "its state has schema 1", fault.ErrUser},
		{"a state that is refused", renewing{}, 1, "bad", "bad", "watermark: no such state", fault.ErrGuest},
	} {
		u := newUserTime(row.fn, nil)
		u.own = []byte(row.own)
		err := u.renew(row.was)
		if string(u.own) != row.want || (err == nil) != (row.err == "") || err != nil && (!strings.Contains(err.Error(), row.err) || !errors.Is(err, row.of)) {
			t.Errorf("%s: state %q, %v, want %q, %q", row.name, u.own, err, row.want, row.err)
		}
	}
}
