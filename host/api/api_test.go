package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/engine"
	"tidemark/engine/breaker"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/host/tenant"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

func TestOpenAPIListsExactlyTheRoutes(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	var described, served []string
	for path, methods := range doc.Paths {
		for method, node := range methods {
			if method == "parameters" {
				continue
			}
			var op struct {
				Security []map[string][]string
				Summary  string
			}
			if err := node.Decode(&op); err != nil {
				t.Fatal(err)
			}
			if op.Summary == "" {
				t.Errorf("%s %s has no summary", method, path)
			}
			described = append(described, fmt.Sprintf("%s %s open=%v", strings.ToUpper(method), path, op.Security != nil && len(op.Security) == 0))
		}
	}
	for _, r := range (&server{}).routes() {
		served = append(served, fmt.Sprintf("%s %s open=%v", r.method, r.path, r.open))
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described:\n%s\nserved:\n%s", strings.Join(described, "\n"), strings.Join(served, "\n"))
	}
}

func TestOpenAPINamesEveryCode(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas struct {
				Failure struct {
					Properties struct {
						Error struct {
							Properties struct{ Code struct{ Enum []string } }
						}
					}
				} `yaml:"Failure"`
			}
		}
	}
	if err := yaml.Unmarshal(OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	listed := doc.Components.Schemas.Failure.Properties.Error.Properties.Code.Enum
	want := []string{"internal"}
	for _, c := range classes {
		if c.code != "cancelled" { // nobody is there to read that one
			want = append(want, c.code)
		}
	}
	slices.Sort(listed)
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("openapi.yaml has %v, the code %v", listed, want)
	}
}

func TestErrorsThereAndBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		status int
		class  error
		text   string // what the client reads
	}{
		{"an unknown job", fault.Unknownf("no job x"), 404, fault.ErrUnknown, "no job x"},
		{"a taken name", fault.Conflictf("taken"), 409, fault.ErrConflict, "taken"},
		{"no token", fault.As(fault.ErrDenied, errors.New("no token")), 401, fault.ErrDenied, "no token"},
		{"a quota", fault.Quotaf("too many"), 403, fault.ErrQuota, "too many"},
		{"all problems of a job file, with their places", job.Problems{{File: "job.yaml", Line: 4, Column: 3, Text: "a"}, {File: "job.yaml", Line: 5, Column: 1, Text: "b"}},
			400, fault.ErrUser, "mine.yaml:4:3: a\nmine.yaml:5:1: b"},
		{"all problems of a module", fault.As(fault.ErrUser, errors.Join(errors.New("a"), errors.New("b"))), 400, fault.ErrUser, "a\nb"},
		{"too large", fault.As(errTooLarge, errors.New("9 bytes")), 413, fault.ErrUser, "9 bytes"},
		{"a disk's trouble is for the log", fault.Externalf("/secret/path: no space"), 503, fault.ErrExternal, "the host could not do this; its log says why"},
		{"so are errors without a class", errors.New("/secret"), 500, fault.ErrExternal, "the host could not do this; its log says why"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, f := failureOf(c.err)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			raw, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			back := ParseFailure(status, raw, "mine.yaml")
			if !errors.Is(back, c.class) || back.Error() != c.text {
				t.Errorf("comes back as %q, want %q", back, c.text)
			}
		})
	}
	if err := ParseFailure(502, []byte("<html>"), ""); !errors.Is(err, fault.ErrExternal) {
		t.Errorf("a proxy's page: %v", err)
	}
}

// door is the API without anything behind it: enough for what it refuses by itself.
func door() http.Handler {
	return New(Options{
		Auth: func(_ context.Context, token string) (tenant.ID, error) {
			if token == "good" {
				return "a", nil
			}
			return "", fault.As(fault.ErrDenied, errors.New("no such token"))
		},
		Ready:    func(context.Context) error { return fault.Externalf("database gone") },
		Metrics:  http.NotFoundHandler(),
		Observe:  func(string, int, time.Duration) {},
		Clock:    env.Real().Clock,
		Log:      slog.New(slog.DiscardHandler),
		JobBytes: 10,
	})
}

func TestRefusals(t *testing.T) {
	h := door()
	for _, c := range []struct {
		name, method, path, token, body string
		status                          int
		code, text                      string
	}{
		{"no token", "GET", "/v1/jobs", "", "", 401, "denied", "tidemark token create"},
		{"a wrong token", "GET", "/v1/jobs", "bad", "", 401, "denied", "no such token"},
		{"a wrong token comes before an unknown job", "GET", "/v1/jobs/x", "bad", "", 401, "denied", ""},
		{"a route that is not there", "GET", "/v2/jobs", "good", "", 404, "unknown", "openapi.yaml"},
		{"a method that is not taken", "PUT", "/v1/jobs/x", "good", "", 405, "wrong_method", "it takes GET, DELETE"},
		{"an id that no job can have", "GET", "/v1/jobs/A..", "good", "", 404, "unknown", `no job "A.."`},
		{"an id that climbs", "GET", "/v1/jobs/..%2Fb", "good", "", 404, "unknown", "no job"},
		{"a misspelt parameter", "GET", "/v1/jobs/x?wiat=1s", "good", "", 400, "invalid", "this route takes: wait"},
		{"a parameter twice", "GET", "/v1/jobs/x?wait=1s&wait=2s", "good", "", 400, "invalid", "2 times"},
		{"a wait without a unit", "GET", "/v1/jobs/x?wait=5", "good", "", 400, "invalid", "from 0s to 1m"},
		{"a wait for an hour", "GET", "/v1/jobs/x?wait=1h", "good", "", 400, "invalid", "from 0s to 1m"},
		{"a stop that is to take a savepoint, perhaps", "POST", "/v1/jobs/x/stop?savepoint=maybe", "good", "", 400, "invalid", "savepoint: must be true or false"},
		{"a stop that drains and is to be gone on from", "POST", "/v1/jobs/x/stop?savepoint=true&drain=true", "good", "", 400, "invalid", "exclude each other"},
		{"a start from a checkpoint by another name", "POST", "/v1/jobs/x/start?from=last", "good", "", 400, "invalid", "from: must be the number of a checkpoint"},
		{"a start with a file that is too large", "POST", "/v1/jobs/x/start", "good", "12345678901", 413, "too_large", "more than 10 bytes"},
		{"a savepoint with a name", "POST", "/v1/jobs/x/savepoints?name=a", "good", "", 400, "invalid", "unknown parameter"},
		{"savepoints are taken, not read", "GET", "/v1/jobs/x/savepoints", "good", "", 405, "wrong_method", "it takes POST"},
		{"a position that is no number", "GET", "/v1/jobs/x/results?from=start", "good", "", 400, "invalid", "Tidemark-Next"},
		{"an empty upload", "POST", "/v1/plugins", "good", "", 400, "invalid", "the body is empty"},
		{"a job file that is too large", "POST", "/v1/jobs", "good", "12345678901", 413, "too_large", "more than 10 bytes"},
		{"an id that is no id", "POST", "/v1/jobs?id=A", "good", "x", 400, "invalid", "an id has"},
		{"a host that is not ready", "GET", "/readyz", "", "", 503, "unavailable", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			if c.token != "" {
				r.Header.Set("Authorization", "Bearer "+c.token)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			raw, err := io.ReadAll(w.Result().Body)
			if err != nil {
				t.Fatal(err)
			}
			var f Failure
			if err := json.Unmarshal(raw, &f); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			if w.Code != c.status || f.Error.Code != c.code || !strings.Contains(f.Error.Message, c.text) || f.Error.Details == nil {
				t.Errorf("status %d, %+v; want %d, %s, %q", w.Code, f.Error, c.status, c.code, c.text)
			}
			if c.status == 401 && w.Header().Get("WWW-Authenticate") == "" {
				t.Error("no WWW-Authenticate")
			}
		})
	}
}

func TestEventTime(t *testing.T) {
	for _, c := range []struct {
		name string
		t    stream.Time
		want string
	}{
		{"the start of time is no time", stream.MinTime, "null"},
		{"the end of time", stream.MaxTime, `"end"`},
		{"before 1970", -1, `"1969-12-31T23:59:59.999Z"`},
		{"milliseconds", 1_517_356_800_001, `"2018-01-31T00:00:00.001Z"`},
	} {
		if raw, err := json.Marshal(eventTime(c.t)); err != nil || string(raw) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, raw, err, c.want)
		}
	}
}

// A step without disabled plug-ins does not speak of any.
func TestDisabledPlugIns(t *testing.T) {
	disabled := []breaker.Disabled{{Plugin: "p", Parts: 2, Since: 1000, Reason: "it is disabled", Aside: 7}}
	raw, err := json.Marshal(wireReport(engine.Report{Steps: []engine.StepReport{{ID: "a", Disabled: disabled}, {ID: "b"}}}).Steps)
	want := `[{"id":"a","watermark":"1970-01-01T00:00:00.000Z","panes":0,"state":0,"rows":0,"updates":0,"inputs":[],"disabled":[{"plugin":"p","parts":2,"since":"1970-01-01T00:00:01.000Z","set_aside":7,"reason":"it is disabled"}]},` +
		`{"id":"b","watermark":"1970-01-01T00:00:00.000Z","panes":0,"state":0,"rows":0,"updates":0,"inputs":[]}]`
	if err != nil || string(raw) != want {
		t.Errorf("got %s, %v\nwant %s", raw, err, want)
	}
}
