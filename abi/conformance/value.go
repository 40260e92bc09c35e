package conformance

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"tidemark/abi"
)

// cell is a value of a column: the field that belongs to the column's kind counts.
type cell struct {
	null bool
	word uint64 // numbers and times as they lie in a frame; a bool is 0 or 1
	text string
}

// tokens parts a line of a vector at blanks; what stands in quotes, as in Go or JSON, stays
// together, and so does the factor behind it: "ab"*3.
func tokens(line string) ([]string, error) {
	var out []string
	for rest := strings.TrimLeft(line, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		end := 0
		for end < len(rest) && rest[end] != ' ' {
			if rest[end] != '"' {
				end++
				continue
			}
			quoted, err := strconv.QuotedPrefix(rest[end:])
			if err != nil {
				return nil, fmt.Errorf("%s: a text that does not end", rest[end:])
			}
			end += len(quoted)
		}
		out = append(out, rest[:end])
		rest = rest[end:]
	}
	return out, nil
}

// parseText reads a text, perhaps with a factor.
func parseText(token string) (string, error) {
	quoted, err := strconv.QuotedPrefix(token)
	if err != nil {
		return "", fmt.Errorf("%s is no text in quotes", token)
	}
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return "", fmt.Errorf("%s: %w", token, err)
	}
	factor := token[len(quoted):]
	if factor == "" {
		return text, nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(factor, "*"), 10, 32)
	if factor[0] != '*' || err != nil {
		return "", fmt.Errorf("%s: behind a text comes nothing, or *N", token)
	}
	return strings.Repeat(text, int(n)), nil
}

// parseCell reads a value of a kind; - is null.
func parseCell(k abi.Kind, token string) (c cell, err error) {
	if token == "-" {
		return cell{null: true}, nil
	}
	switch k {
	case abi.String:
		c.text, err = parseText(token)
		if err == nil && !utf8.ValidString(c.text) {
			err = fmt.Errorf("%s is not UTF-8", token)
		}
	case abi.Bool:
		var v bool
		if v, err = strconv.ParseBool(token); v {
			c.word = 1
		}
	case abi.Float64:
		var v float64
		v, err = strconv.ParseFloat(token, 64)
		c.word = math.Float64bits(v)
	default:
		var v int64
		v, err = strconv.ParseInt(token, 10, 64)
		c.word = uint64(v)
	}
	return c, err
}

// show writes a value so that two of them are equal exactly if their texts are. All NaNs
// are one: what a machine makes of their bits is its own.
func (c cell) show(k abi.Kind) string {
	switch {
	case c.null:
		return "-"
	case k == abi.String:
		return showText(c.text)
	case k == abi.Bool:
		return strconv.FormatBool(c.word != 0)
	case k == abi.Float64:
		return strconv.FormatFloat(math.Float64frombits(c.word), 'g', -1, 64)
	}
	return strconv.FormatInt(int64(c.word), 10)
}

// maxShown bounds how much of a text or of bytes a report shows; behind it stand length and
// digest, so that equal is still equal.
const maxShown = 400

func showText(s string) string {
	if len(s) <= maxShown {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%q… (%d bytes, sha256 %x)", s[:40], len(s), sha256.Sum256([]byte(s)))
}

func showBytes(b []byte) string {
	switch {
	case len(b) == 0:
		return "none"
	case len(b) <= maxShown:
		return hex.EncodeToString(b)
	}
	return fmt.Sprintf("%x… (%d bytes, sha256 %x)", b[:40], len(b), sha256.Sum256(b))
}

// parseBytes reads bytes as a vector gives them, piece by piece:
//
//	i64:-5  u64:7  u32:7  u8:7  f64:2.5   numbers, little endian
//	uv:300                                a number of varying length (LEB128)
//	t:"abc"                               the length of a text as uv, and the text
//	"abc"                                 the bytes of a text
//	hex:00ff
//	none                                  nothing
func parseBytes(words []string) ([]byte, error) {
	b := []byte{}
	for _, w := range words {
		if w == "none" {
			continue
		}
		if w[0] == '"' {
			text, err := parseText(w)
			if err != nil {
				return nil, err
			}
			b = append(b, text...)
			continue
		}
		kind, rest, _ := strings.Cut(w, ":")
		var err error
		var n uint64
		switch kind {
		case "i64":
			var v int64
			v, err = strconv.ParseInt(rest, 10, 64)
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		case "u64":
			n, err = strconv.ParseUint(rest, 10, 64)
			b = binary.LittleEndian.AppendUint64(b, n)
		case "u32":
			n, err = strconv.ParseUint(rest, 10, 32)
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		case "u8":
			n, err = strconv.ParseUint(rest, 10, 8)
			b = append(b, byte(n))
		case "f64":
			var v float64
			v, err = strconv.ParseFloat(rest, 64)
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		case "uv":
			n, err = strconv.ParseUint(rest, 10, 64)
			b = binary.AppendUvarint(b, n)
		case "t":
			var text string
			text, err = parseText(rest)
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		case "hex":
			var raw []byte
			raw, err = hex.DecodeString(rest)
			b = append(b, raw...)
		default:
			err = fmt.Errorf("%q is none of i64, u64, u32, u8, f64, uv, t, hex", kind)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
	}
	return b, nil
}
