package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"tidemark/engine/job"
	"tidemark/internal/fault"
)

// Failure is the one body of all answers that are errors:
//
//	{"error": {"code": "invalid", "message": "3 problems", "details": [{"message": "…", "line": 4, "column": 3}]}}
type Failure struct {
	Error Error `json:"error"`
}

// Error says what is wrong: code for programs, message for people.
type Error struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Details []Detail `json:"details"`
}

// Detail is one of several problems. Line and column count from 1; 0: no place.
type Detail struct {
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
}

// classes maps each class of error to its code and status: the one place, for both
// directions. Classes that tell of the host's insides show their text to the log only.
var classes = []struct {
	class  error
	code   string
	status int
	public bool
}{
	{errTooLarge, "too_large", http.StatusRequestEntityTooLarge, true},
	{errMethod, "wrong_method", http.StatusMethodNotAllowed, true},
	{fault.ErrDenied, "denied", http.StatusUnauthorized, true},
	{fault.ErrQuota, "quota", http.StatusForbidden, true},
	{fault.ErrConflict, "conflict", http.StatusConflict, true},
	{fault.ErrUser, "invalid", http.StatusBadRequest, true},
	{fault.ErrUnknown, "unknown", http.StatusNotFound, true},
	{fault.ErrGuest, "plugin_failed", http.StatusUnprocessableEntity, true},
	{fault.ErrCorrupt, "damaged", http.StatusInternalServerError, false},
	{fault.ErrExternal, "unavailable", http.StatusServiceUnavailable, false},
	{context.DeadlineExceeded, "timeout", http.StatusGatewayTimeout, false},
	{context.Canceled, "cancelled", statusClientGone, false},
	{errClientGone, "cancelled", statusClientGone, false},
}

var (
	errTooLarge   = errors.New("too large")
	errMethod     = errors.New("wrong method")
	errClientGone = errors.New("the client has gone")
)

// statusClientGone is for the log and the metrics: nobody is there to read it.
const statusClientGone = 499

// failureOf turns an error into a status and a body.
func failureOf(err error) (int, Failure) {
	for _, c := range classes {
		if !errors.Is(err, c.class) {
			continue
		}
		f := Failure{Error{Code: c.code, Message: "the host could not do this; its log says why", Details: []Detail{}}}
		if c.public {
			f.Error.Message, f.Error.Details = explain(err)
		}
		return c.status, f
	}
	return http.StatusInternalServerError, Failure{Error{Code: "internal", Message: "the host could not do this; its log says why", Details: []Detail{}}}
}

// explain splits an error that holds several.
func explain(err error) (string, []Detail) {
	details := []Detail{}
	var problems job.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			details = append(details, Detail{Message: p.Text, Line: p.Line, Column: p.Column})
		}
	} else if lines := strings.Split(err.Error(), "\n"); len(lines) > 1 {
		for _, l := range lines {
			details = append(details, Detail{Message: l})
		}
	} else {
		return err.Error(), details
	}
	if len(details) == 1 {
		return "1 problem", details
	}
	return fmt.Sprintf("%d problems", len(details)), details
}

// ParseFailure turns the body of an answer that is an error back into an error of its
// class. Details stand on lines of their own; those with a place name the file that
// was sent, as the client calls it.
func ParseFailure(status int, body []byte, file string) error {
	var f Failure
	if err := json.Unmarshal(body, &f); err != nil || f.Error.Code == "" {
		return fault.Externalf("the answer (status %d) is not from a Tidemark host", status)
	}
	lines := make([]string, 0, len(f.Error.Details))
	for _, d := range f.Error.Details {
		line := d.Message
		if d.Line > 0 {
			line = fmt.Sprintf("%s:%d:%d: %s", file, d.Line, d.Column, d.Message)
		}
		lines = append(lines, line)
	}
	text := f.Error.Message
	if len(lines) > 0 {
		text = strings.Join(lines, "\n")
	}
	for _, c := range classes {
		if c.code != f.Error.Code {
			continue
		}
		if c.class == errTooLarge || c.class == errMethod {
			return fault.Userf("%s", text)
		}
		return fault.As(c.class, errors.New(text))
	}
	return fault.Externalf("%s", text)
}
