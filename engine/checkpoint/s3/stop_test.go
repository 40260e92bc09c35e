package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"tidemark/engine/checkpoint"
)

// stopping ends the process at request number at (from 1): before it is handled, or after,
// when nobody learns of the answer.
type stopping struct {
	mu       sync.Mutex
	at       int
	handled  bool
	requests int
	stop     context.CancelFunc
	alive    bool // the next process is; nothing fails any more
}

func (s *stopping) middle(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests++
		alive, gone, now := s.alive, s.requests > s.at, s.requests == s.at
		s.mu.Unlock()
		switch {
		case alive, !gone && !now:
			next.ServeHTTP(w, r)
			return
		case now && s.handled:
			next.ServeHTTP(httptest.NewRecorder(), r)
		}
		s.stop()
		panic(http.ErrAbortHandler) // the connection breaks
	})
}

// begin counts anew, for a process that ends when stop is called.
func (s *stopping) begin(at int, stop context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.requests, s.stop, s.alive = at, 0, stop, false
}

// end reports whether the process ended early, and lets the next one begin.
func (s *stopping) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive = true
	return s.requests >= s.at
}

// body is the one section of a checkpoint: of the second, large enough for an upload in
// parts.
func body(name string) []byte {
	if name == "second" {
		return bytes.Repeat([]byte(name), 9<<20/len(name))
	}
	return []byte(name)
}

func publish(ctx context.Context, l *checkpoint.Log, name string) error {
	w := l.Begin(checkpoint.Meta{Kind: checkpoint.Periodic})
	err := w.Add(ctx, checkpoint.Section{Operator: "sum", Kind: checkpoint.KindGroup, Body: body(name)})
	if err == nil {
		err = w.Publish(ctx)
	}
	if err != nil {
		return errors.Join(err, w.Abandon(ctx))
	}
	return nil
}

// TestStopAtEveryRequest ends a process at each request that a start and its checkpoint
// make, one after the other. The next start finds the old checkpoint or the new one.
func TestStopAtEveryRequest(t *testing.T) {
	for _, handled := range []bool{false, true} {
		n := 1
		for ; stopAt(t, n, handled); n++ {
		}
		if n < 20 {
			t.Errorf("only %d requests", n)
		}
		t.Logf("%d requests", n-1)
	}
}

// stopAt plays it with request n, and reports whether there was one.
func stopAt(t *testing.T, n int, handled bool) bool {
	disk := &stopping{handled: handled, alive: true}
	o := serve(t, disk.middle)
	o.tries = 1 // nothing answers a process that has ended
	s := open(t, o, "jobs")
	first := checkpoint.Open(s, rand.Reader)
	if err := errors.Join(first.Claim(t.Context()), publish(t.Context(), first, "first")); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	disk.begin(n, stop)
	l := checkpoint.Open(s, rand.Reader)
	want := []string{"first", "second"}
	err := l.Claim(ctx)
	if err == nil {
		err = publish(ctx, l, "second")
	}
	if err == nil {
		want = want[1:]
		err = l.Retain(ctx, 1)
	}
	stopped := disk.end()
	if err != nil && !stopped {
		t.Fatal(err)
	}

	next := checkpoint.Open(s, rand.Reader)
	if err := next.Claim(t.Context()); err != nil {
		t.Fatalf("request %d: %v", n, err)
	}
	c, warnings, err := next.Last(t.Context())
	if err != nil || len(warnings) > 0 || c == nil {
		t.Fatalf("request %d: %v %q %v", n, c, warnings, err)
	}
	for section, err := range c.Sections(t.Context(), "sum", checkpoint.KindGroup) {
		if err != nil || !slices.ContainsFunc(want, func(name string) bool { return bytes.Equal(section.Body, body(name)) }) {
			t.Fatalf("request %d: it is not one of %q: %v", n, want, err)
		}
	}
	if err := errors.Join(publish(t.Context(), next, "third"), next.Retain(t.Context(), 1)); err != nil {
		t.Fatalf("request %d: %v", n, err)
	}
	names, err := s.List(t.Context(), "")
	if err != nil || len(names) != 4 { // claim, manifest, data and the probe
		t.Fatalf("request %d: left over: %q %v", n, names, err)
	}
	for u := range s.client.ListIncompleteUploads(t.Context(), bucket, "", true) {
		if u.Err == nil || !strings.Contains(u.Err.Error(), noSuchUpload) {
			t.Fatalf("request %d: left over: an upload of %s: %v", n, u.Key, u.Err)
		}
	}
	return stopped
}
