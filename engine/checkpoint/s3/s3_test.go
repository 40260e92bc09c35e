package s3

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"

	"tidemark/engine/checkpoint"
	"tidemark/engine/checkpoint/storetest"
	"tidemark/internal/fault"
)

const bucket = "tides"

// serve runs object storage in memory, behind what middle does with requests.
func serve(t *testing.T, middle func(next http.Handler) http.Handler) Options {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(middle(gofakes3.New(backend).Server()))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of clients that go away
	server.Start()
	t.Cleanup(server.Close)
	return Options{Endpoint: server.URL, Region: "us-east-1", AccessKey: "key", SecretKey: "secret"}
}

func plain(next http.Handler) http.Handler { return next }

func open(t *testing.T, o Options, prefix string) *store {
	t.Helper()
	s, err := Open(Scheme+bucket+"/"+prefix, o)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*store)
}

func TestObjectStorage(t *testing.T) {
	o := serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && r.Header.Get("Content-Md5") == "" {
				t.Errorf("%s carries no checksum", r.URL)
			}
			next.ServeHTTP(w, r)
		})
	})
	n := 0
	storetest.Run(t, func(t *testing.T) checkpoint.Store {
		n++
		// Beside each other in one bucket, one name the beginning of the next.
		return open(t, o, "jobs/"+strings.Repeat("x", n))
	})
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct{ place, endpoint, err string }{
		{"s3://tides/jobs/orders", "", ""},
		{"s3://tides/jobs/orders/", "http://127.0.0.1:9000", ""},
		{"s3://tides/jobs", "https://storage.example/", ""},
		{"s3://tides", "", "s3://BUCKET/PREFIX"},
		{"s3://tides/", "", "s3://BUCKET/PREFIX"},
		{"s3:///jobs", "", "s3://BUCKET/PREFIX"},
		{"/var/lib", "", "s3://BUCKET/PREFIX"},
		{"s3://tides/jobs", "storage.example:9000", "https://HOST"},
		{"s3://tides/jobs", "http://storage.example/path", "https://HOST"},
		{"s3://tides/jobs", "ftp://storage.example", "https://HOST"},
	} {
		_, err := Open(c.place, Options{Endpoint: c.endpoint})
		if c.err == "" && err != nil || c.err != "" && (!errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s at %q: %v, want %q", c.place, c.endpoint, err, c.err)
		}
	}
	s := open(t, Options{}, "jobs/orders/")
	if got := s.Path("log-1"); got != "s3://tides/jobs/orders/log-1" {
		t.Error(got)
	}
}

func TestABucketThatIsNotThere(t *testing.T) {
	o := serve(t, plain)
	s, err := Open("s3://other/jobs", o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Lock(t.Context())
	if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), "s3://other/jobs") {
		t.Errorf("%v, want an error of the user's that names the place", err)
	}
}

// Storage that knows no conditional puts takes each of them, and fences nobody.
func TestStorageWithoutConditionalPutsIsRefused(t *testing.T) {
	o := serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-None-Match")
			next.ServeHTTP(w, r)
		})
	})
	l := checkpoint.Open(open(t, o, "jobs"), bytes.NewReader(make([]byte, 16)))
	if err := l.Claim(t.Context()); !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), "conditional puts") {
		t.Errorf("%v, want it refused", err)
	}
}

// A put whose answer is lost is tried again by the client, and meets itself.
func TestAPutWhoseAnswerIsLost(t *testing.T) {
	var lose, lost atomic.Int32
	o := serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/log-") && lose.Add(-1) >= 0 {
				next.ServeHTTP(httptest.NewRecorder(), r)
				lost.Add(1)
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s := open(t, o, "jobs")
	l := checkpoint.Open(s, bytes.NewReader(make([]byte, 16)))
	lose.Store(1)
	if err := l.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := l.Begin(checkpoint.Meta{Kind: checkpoint.Periodic})
	if err := w.Add(t.Context(), checkpoint.Section{Kind: checkpoint.KindJob, Body: []byte("body")}); err != nil {
		t.Fatal(err)
	}
	lose.Store(1)
	if err := w.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lost.Load() != 2 {
		t.Fatalf("%d answers were lost: this test shows nothing", lost.Load())
	}
	if c, warnings, err := l.Last(t.Context()); err != nil || len(warnings) > 0 || c.Meta.ID != 1 {
		t.Errorf("%+v %q %v", c, warnings, err)
	}
	if names, err := s.List(t.Context(), "log-"); err != nil || len(names) != 2 {
		t.Errorf("entries %q %v", names, err)
	}
}

// Two puts of one name at the same moment may be told to try again.
func TestAConflictIsTriedAgain(t *testing.T) {
	var conflicts atomic.Int32
	o := serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && conflicts.Add(-1) >= 0 {
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>ConditionalRequestConflict</Code><Message>again</Message></Error>`)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s := open(t, o, "jobs")
	conflicts.Store(3)
	if err := s.PutIfAbsent(t.Context(), "log-1", []byte("x")); err != nil {
		t.Error(err)
	}
	conflicts.Store(3)
	if err := s.PutIfAbsent(t.Context(), "log-1", []byte("y")); !errors.Is(err, checkpoint.ErrExists) {
		t.Error(err)
	}
	conflicts.Store(1000)
	if err := s.PutIfAbsent(t.Context(), "log-2", nil); !errors.Is(err, fault.ErrExternal) {
		t.Error(err)
	}
}

// Parts of uploads whose process has ended, or whose end has failed, are removed.
func TestUnfinishedUploadsAreRemoved(t *testing.T) {
	s := open(t, serve(t, plain), "jobs")
	core := minio.Core{Client: s.client}
	begin := func(key string) {
		t.Helper()
		id, err := core.NewMultipartUpload(t.Context(), bucket, key, minio.PutObjectOptions{})
		if err == nil {
			_, err = core.PutObjectPart(t.Context(), bucket, key, id, 1, strings.NewReader("part"), 4, minio.PutObjectPartOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	left := func() (keys []string) {
		t.Helper()
		for u := range s.client.ListIncompleteUploads(t.Context(), bucket, "", true) {
			if u.Err != nil {
				t.Fatal(u.Err)
			}
			keys = append(keys, u.Key)
		}
		return keys
	}
	begin("jobs/data-1")
	begin("jobs/data-2")
	begin("jobs2/data-1") // another job's
	if err := s.Delete(t.Context(), "data-1"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(left()); got != "[jobs/data-2 jobs2/data-1]" {
		t.Fatalf("after removing data-1 there are %s", got)
	}
	if _, err := s.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(left()); got != "[jobs2/data-1]" {
		t.Errorf("after the next start there are %s", got)
	}
}

// What changes on its way is not stored.
func TestAPutThatIsDamagedOnItsWay(t *testing.T) {
	var damage atomic.Bool
	s := open(t, serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && damage.Load() {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				body[0] ^= 1
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
			next.ServeHTTP(w, r)
		})
	}), "jobs")
	damage.Store(true)
	if err := s.PutIfAbsent(t.Context(), "log-1", []byte("entry")); !errors.Is(err, fault.ErrExternal) || !strings.Contains(err.Error(), "s3://tides/jobs/log-1") {
		t.Errorf("%v, want it refused", err)
	}
	damage.Store(false)
	if err := s.PutIfAbsent(t.Context(), "log-1", []byte("entry")); err != nil {
		t.Error(err)
	}
}
