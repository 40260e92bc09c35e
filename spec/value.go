package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Value is any JSON value, held as its canonical text: no blanks, object names in
// order, whole numbers without point or exponent. So equal values are equal strings,
// and integers keep all their digits. The empty Value is an absent one.
type Value string

// Null is the value null.
const Null Value = "null"

// maxExact is the largest magnitude up to which a float64 tells all integers apart.
const maxExact = 1 << 53

// Int returns the value of n.
func Int(n int64) Value { return Value(strconv.FormatInt(n, 10)) }

// Text returns the value of a string.
func Text(s string) Value {
	var b strings.Builder
	writeText(&b, s)
	return Value(b.String())
}

// List returns a list of values.
func List(vs ...Value) Value {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = v.String()
	}
	return Value("[" + strings.Join(parts, ",") + "]")
}

// String returns the JSON of v; that of an absent value is null.
func (v Value) String() string {
	if v == "" {
		return string(Null)
	}
	return string(v)
}

// MarshalJSON writes the value as it is held.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalJSON reads any JSON value.
func (v *Value) UnmarshalJSON(data []byte) error {
	c, err := Canonical(data)
	*v = c
	return err
}

// Canonical returns the value of a JSON text.
func Canonical(data []byte) (Value, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		return "", err
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", fmt.Errorf("more than one JSON value: %.40q", data)
	}
	var b strings.Builder
	if err := write(&b, x); err != nil {
		return "", err
	}
	return Value(b.String()), nil
}

// write appends x, which json decoded, in canonical form.
func write(b *strings.Builder, x any) error {
	switch x := x.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(x))
	case json.Number:
		return writeNumber(b, x.String())
	case string:
		writeText(b, x)
	case []any:
		b.WriteByte('[')
		for i, e := range x {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, e); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case map[string]any:
		names := make([]string, 0, len(x))
		for n := range x {
			names = append(names, n)
		}
		slices.Sort(names)
		b.WriteByte('{')
		for i, n := range names {
			if i > 0 {
				b.WriteByte(',')
			}
			writeText(b, n)
			b.WriteByte(':')
			if err := write(b, x[n]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	default:
		panic(fmt.Sprintf("BUG: JSON gave a %T", x))
	}
	return nil
}

// writeNumber keeps integers digit by digit; other numbers are compared as float64.
func writeNumber(b *strings.Builder, n string) error {
	if n == "-0" {
		n = "0"
	}
	if strings.ContainsAny(n, ".eE") {
		f, err := strconv.ParseFloat(n, 64)
		switch {
		case err != nil:
			return fmt.Errorf("number %s: %w", n, err)
		case f == math.Trunc(f) && math.Abs(f) <= maxExact:
			n = strconv.FormatInt(int64(f), 10)
		default:
			n = strconv.FormatFloat(f, 'g', -1, 64)
		}
	}
	b.WriteString(n)
	return nil
}

func writeText(b *strings.Builder, s string) {
	text, err := json.Marshal(s)
	if err != nil {
		panic("BUG: a string has no JSON: " + err.Error())
	}
	b.Write(text)
}
