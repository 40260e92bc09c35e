package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"tidemark/abi"
	"tidemark/engine/laws"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

const (
	// maxOwnRecords bounds an author's records: each law goes through them several times.
	maxOwnRecords = 10_000
	// maxOwnLine bounds one of them.
	maxOwnLine = 1 << 20
)

// parseMoment reads a time: RFC 3339 text or milliseconds since 1970.
func parseMoment(text string) (int64, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return ms, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return t.UnixMilli(), err
}

// readOwn reads an author's records: JSON lines, or CSV with a header where the name ends in
// .csv. Columns are found by the names of the inputs; other ones are left alone. The time
// of a record is its field time, if that is there and no input; else records are a second
// apart.
func readOwn(name string, inputs []abi.Column) ([]laws.Record, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fault.As(fault.ErrUser, err)
	}
	defer f.Close() // only read from
	read := readJSONLines
	if strings.HasSuffix(strings.ToLower(name), ".csv") {
		read = readCSV
	}
	var out []laws.Record
	seen := map[string]bool{}
	err = read(f, func(line int, get func(string) (string, bool)) error {
		if len(out) == maxOwnRecords {
			return fmt.Errorf("more than %d records; give a part of them", maxOwnRecords)
		}
		r := laws.Record{Time: stream.Time(1000 * len(out))}
		isInput := false
		for _, in := range inputs {
			isInput = isInput || in.Name == "time"
			text, there := get(in.Name)
			if !there || text == "" && in.Kind != abi.String {
				r.Values = append(r.Values, laws.Value{Null: true})
				continue
			}
			seen[in.Name] = true
			v, err := parseValue(stream.Kind(in.Kind), text)
			if err != nil {
				return fmt.Errorf("line %d: %s: %w", line, in.Name, err)
			}
			r.Values = append(r.Values, v)
		}
		if text, there := get("time"); there && !isInput {
			at, err := parseMoment(text)
			if err != nil {
				return fmt.Errorf("line %d: time: %q is neither RFC 3339 nor milliseconds since 1970", line, text)
			}
			r.Time = stream.Time(at)
		}
		out = append(out, r)
		return nil
	})
	if err != nil {
		return nil, fault.Userf("%s: %w", name, err)
	}
	for _, in := range inputs {
		if !seen[in.Name] {
			return nil, fault.Userf("%s: no record has a value for the input %s; columns are found by the names of the inputs", name, in.Name)
		}
	}
	return out, nil
}

// readJSONLines hands out objects; a value is as it is written, text without its quotes.
func readJSONLines(r io.Reader, take func(line int, get func(string) (string, bool)) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxOwnLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &fields); err != nil {
			return fmt.Errorf("line %d: not an object of JSON: %w", n, err)
		}
		if err := take(n, func(name string) (string, bool) {
			raw, ok := fields[name]
			if !ok || string(raw) == "null" {
				return "", false
			}
			var text string
			if json.Unmarshal(raw, &text) == nil {
				return text, true
			}
			return string(raw), true
		}); err != nil {
			return err
		}
	}
	return lines.Err()
}

// readCSV hands out the lines behind the header.
func readCSV(r io.Reader, take func(line int, get func(string) (string, bool)) error) error {
	c := csv.NewReader(r)
	header, err := c.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	if err != nil {
		return err
	}
	place := map[string]int{}
	for i, name := range header {
		place[name] = i
	}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line, _ := c.FieldPos(0)
		if err := take(line, func(name string) (string, bool) {
			i, ok := place[name]
			if !ok {
				return "", false
			}
			return row[i], true
		}); err != nil {
			return err
		}
	}
}
