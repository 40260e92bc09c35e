package main

import (
	"fmt"
	"io"
	"strings"

	"tidemark/engine/job"
)

// tell prints an error. What it is made of, such as the problems of a job file, is
// counted; a message of several lines, such as a guest's panic, is one.
func tell(w io.Writer, err error) {
	found := problems(err)
	if len(found) == 1 {
		fmt.Fprintf(w, "tidemark: %s\n", found[0])
		return
	}
	for _, text := range found { // each names its place, as editors like it
		fmt.Fprintln(w, text)
	}
	fmt.Fprintf(w, "tidemark: %s\n", count(int64(len(found)), "problem"))
}

// problems takes apart what says several independent things: the problems of a job
// and joined errors. An error that adds words of its own says one.
func problems(err error) []string {
	text := err.Error()
	switch e := err.(type) {
	case moduleError:
		return strings.Split(text, "\n")
	case job.Problems:
		found := make([]string, len(e))
		for i, p := range e {
			found[i] = p.String()
		}
		return found
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil && inner.Error() == text {
			return problems(inner)
		}
	case interface{ Unwrap() []error }:
		var parts []string
		for _, inner := range e.Unwrap() {
			if inner.Error() == text { // the class stands beside it
				return problems(inner)
			}
			parts = append(parts, inner.Error())
		}
		if strings.Join(parts, "\n") != text {
			break
		}
		var found []string
		for _, inner := range e.Unwrap() {
			found = append(found, problems(inner)...)
		}
		return found
	}
	return []string{text}
}

// moduleError is what is wrong with a plug-in's file, a line for each problem.
type moduleError struct {
	file string
	error
}

// Error names the file in each line.
func (e moduleError) Error() string {
	return e.file + ": " + strings.ReplaceAll(e.error.Error(), "\n", "\n"+e.file+": ")
}

func (e moduleError) Unwrap() error { return e.error }
