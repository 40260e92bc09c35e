// Command survey prints how the functions of real modules are built, a line of the table
// in docs/limits.md for each: what the limits on the shape of plug-ins rest on.
// scripts/survey.sh fetches the modules.
//
//	go run ./scripts/survey NAME=FILE…
package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"tidemark/abi/binary"
	"tidemark/abi/meter"
)

func main() {
	fmt.Println("| module | KiB | functions | bytes | blocks | nesting | br_table | locals | blocks x locals | data | above 4 KiB | beyond SPEC section 1 |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, arg := range os.Args[1:] {
		name, file, ok := strings.Cut(arg, "=")
		if !ok {
			file = arg
		}
		row, err := measure(name, file)
		if err != nil {
			fmt.Fprintf(os.Stderr, "survey: %s: %v\n", file, err)
			os.Exit(1)
		}
		fmt.Println(row)
	}
}

func measure(name, file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	m, err := binary.Read(bytes.NewReader(content))
	if err != nil {
		return "", err
	}
	s, err := meter.Measure(content)
	if err != nil {
		return "", err
	}
	newer := strings.Join(s.Newer, ", ")
	if s.Unread > 0 {
		newer += fmt.Sprintf(" (%d functions unread)", s.Unread)
	}
	l := s.Largest()
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %s |", name, (m.Size+1023)>>10, len(s.Functions),
		l.Bytes, l.Blocks, l.Nesting, l.Labels, l.Locals, l.Product, s.DataSegments, len(s.Above(meter.LargeCode)), newer), nil
}
