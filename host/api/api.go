// Package api speaks HTTP for the host: it reads requests, asks the controller and the
// registry, and writes answers. It decides nothing about jobs. A request belongs to
// the tenant of its token, and to no other; openapi.yaml describes every route.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	_ "embed" // openapi.yaml

	"tidemark/host/catalog"
	"tidemark/host/controller"
	"tidemark/host/registry"
	"tidemark/host/tenant"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// OpenAPI is the description of all routes.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Options is what the API stands on.
type Options struct {
	Controller *controller.Controller
	Registry   *registry.Registry
	// Auth tells whose token it is; ErrDenied for none.
	Auth func(ctx context.Context, token string) (tenant.ID, error)
	// Ready tells whether the host can do its work.
	Ready   func(ctx context.Context) error
	Version Version
	Metrics http.Handler
	// Observe is told of each answer; route is the pattern, never a path.
	Observe     func(route string, status int, took time.Duration)
	Clock       env.Clock
	Log         *slog.Logger
	StopTimeout time.Duration // how long a stop waits where the request names no time
	JobBytes    int64         // largest job file
}

// Version is what GET /version answers.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	ABI     int    `json:"abi"`
}

const (
	// MaxWait is the longest that a request waits for a job: proxies give up soon
	// after a minute.
	MaxWait = time.Minute
	// writeTimeout bounds each piece of an answer, so that a client that does not
	// read holds nothing for long.
	writeTimeout = 30 * time.Second
	// pieceBytes is how much of an output is written before the time starts anew.
	pieceBytes = 1 << 20
)

// Headers beside results.
const (
	HeaderNext     = "Tidemark-Next"     // where the next piece begins
	HeaderComplete = "Tidemark-Complete" // true: nothing follows
)

// server holds the options for the handlers.
type server struct{ Options }

// handler answers a request of a tenant; for open routes id is empty.
type handler func(w http.ResponseWriter, r *http.Request, id tenant.ID) error

type route struct {
	method, path string
	open         bool // needs no token
	do           handler
}

func (s *server) routes() []route {
	return []route{
		{"GET", "/healthz", true, s.health},
		{"GET", "/readyz", true, s.ready},
		{"GET", "/version", true, s.version},
		{"GET", "/metrics", true, s.metrics},
		{"GET", "/openapi.yaml", true, s.openAPI},
		{"POST", "/v1/plugins", false, s.pushPlugin},
		{"GET", "/v1/plugins", false, s.listPlugins},
		{"POST", "/v1/jobs", false, s.submit},
		{"GET", "/v1/jobs", false, s.listJobs},
		{"GET", "/v1/jobs/{id}", false, s.getJob},
		{"GET", "/v1/jobs/{id}/results", false, s.results},
		{"POST", "/v1/jobs/{id}/stop", false, s.stop},
		{"POST", "/v1/jobs/{id}/start", false, s.start},
		{"POST", "/v1/jobs/{id}/savepoints", false, s.savepoint},
		{"GET", "/v1/jobs/{id}/checkpoints", false, s.listSaved},
		{"DELETE", "/v1/jobs/{id}", false, s.deleteJob},
	}
}

// New makes the handler of all routes.
func New(o Options) http.Handler {
	s := &server{o}
	mux := http.NewServeMux()
	allowed := map[string][]string{}
	for _, r := range s.routes() {
		mux.Handle(r.method+" "+r.path, s.serve(r.path, r.open, r.do))
		allowed[r.path] = append(allowed[r.path], r.method)
	}
	for path, methods := range allowed {
		mux.Handle(path, s.serve(path, true, func(w http.ResponseWriter, r *http.Request, _ tenant.ID) error {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			return fault.As(errMethod, fmt.Errorf("%s does not take %s, it takes %s", r.URL.Path, r.Method, strings.Join(methods, ", ")))
		}))
	}
	mux.Handle("/", s.serve("other", true, func(_ http.ResponseWriter, r *http.Request, _ tenant.ID) error {
		return fault.Unknownf("no route %s; GET /openapi.yaml lists them", r.URL.Path)
	}))
	return mux
}

// serve wraps a handler: who asks, what went wrong, and what the log is told.
func (s *server) serve(name string, open bool, do handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := s.Clock.Now()
		rec := &recorder{ResponseWriter: w, status: http.StatusOK}
		_ = http.NewResponseController(w).SetWriteDeadline(began.Add(MaxWait + writeTimeout))
		id, err := s.whose(r, open)
		if err == nil {
			err = do(rec, r, id)
		}
		log := s.Log.With("method", r.Method, "path", r.URL.Path, "tenant", id)
		if err != nil {
			status, body := failureOf(err)
			if r.Context().Err() == nil && status >= http.StatusInternalServerError {
				log.Error("request failed", "error", err)
			}
			if status == http.StatusUnauthorized {
				rec.Header().Set("WWW-Authenticate", `Bearer realm="tidemark"`)
			}
			// Once an answer has begun, all that is left is to break it off.
			if rec.began {
				panic(http.ErrAbortHandler)
			}
			writeJSON(rec, status, body)
		}
		took := s.Clock.Now().Sub(began)
		s.Observe(name, rec.status, took)
		log.Debug("request", "status", rec.status, "took", took)
	})
}

// whose returns the tenant of a request.
func (s *server) whose(r *http.Request, open bool) (tenant.ID, error) {
	if open {
		return "", nil
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return "", fault.As(fault.ErrDenied, errors.New("no token: send Authorization: Bearer and a token of tidemark token create"))
	}
	return s.Auth(r.Context(), strings.TrimSpace(token))
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	began  bool
}

func (r *recorder) WriteHeader(status int) {
	if !r.began {
		r.status, r.began = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.began = true
	return r.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func writeJSON(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		panic("BUG: answer: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(raw, '\n')) // a client that has gone needs no answer
}

func (s *server) health(w http.ResponseWriter, _ *http.Request, _ tenant.ID) error {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

func (s *server) ready(w http.ResponseWriter, r *http.Request, _ tenant.ID) error {
	if err := s.Ready(r.Context()); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
	return nil
}

func (s *server) version(w http.ResponseWriter, _ *http.Request, _ tenant.ID) error {
	writeJSON(w, http.StatusOK, s.Version)
	return nil
}

func (s *server) metrics(w http.ResponseWriter, r *http.Request, _ tenant.ID) error {
	s.Metrics.ServeHTTP(w, r)
	return nil
}

func (s *server) openAPI(w http.ResponseWriter, _ *http.Request, _ tenant.ID) error {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(OpenAPI)
	return nil
}

// body reads a whole request body of at most limit bytes.
func body(w http.ResponseWriter, r *http.Request, what string, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, fault.As(errTooLarge, fmt.Errorf("%s has more than %d bytes", what, limit))
	case err != nil:
		return nil, fault.Userf("the body could not be read: %w", err)
	case len(raw) == 0:
		return nil, fault.Userf("the body is empty: send %s", what)
	}
	return raw, nil
}

// query reads parameters strictly: an unknown one is an error, since a misspelt
// filter would answer something else.
func query(r *http.Request, known ...string) (map[string]string, error) {
	out := map[string]string{}
	for name, values := range r.URL.Query() {
		ok := false
		for _, k := range known {
			ok = ok || k == name
		}
		if !ok {
			return nil, fault.Userf("unknown parameter %q; this route takes: %s", name, strings.Join(known, ", "))
		}
		if len(values) != 1 {
			return nil, fault.Userf("parameter %s is given %d times", name, len(values))
		}
		out[name] = values[0]
	}
	return out, nil
}

func wait(text string, preset time.Duration) (time.Duration, error) {
	if text == "" {
		return preset, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > MaxWait {
		return 0, fault.Userf("wait: must be a duration from 0s to %v, is %q", MaxWait, text)
	}
	return d, nil
}

func jobID(r *http.Request) (catalog.JobID, error) {
	id, err := catalog.ParseJobID(r.PathValue("id"))
	if err != nil { // no job can have this name
		return "", fault.Unknownf("no job %q", r.PathValue("id"))
	}
	return id, nil
}

func (s *server) pushPlugin(w http.ResponseWriter, r *http.Request, id tenant.ID) error {
	if _, err := query(r); err != nil {
		return err
	}
	module, err := body(w, r, "a module (.wasm)", registry.MaxModuleBytes)
	if err != nil {
		return err
	}
	p, created, err := s.Registry.Put(r.Context(), id, module)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		s.Log.Info("plug-in uploaded", "tenant", id, "plugin", p.Name+"@"+p.Version, "digest", p.Digest)
	}
	writeJSON(w, status, wirePlugin(p))
	return nil
}

func (s *server) listPlugins(w http.ResponseWriter, r *http.Request, id tenant.ID) error {
	if _, err := query(r); err != nil {
		return err
	}
	all, err := s.Registry.List(r.Context(), id)
	if err != nil {
		return err
	}
	out := Plugins{Plugins: []Plugin{}}
	for _, p := range all {
		out.Plugins = append(out.Plugins, wirePlugin(p))
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *server) submit(w http.ResponseWriter, r *http.Request, id tenant.ID) error {
	q, err := query(r, "id")
	if err != nil {
		return err
	}
	var name catalog.JobID
	if key := r.Header.Get("Idempotency-Key"); q["id"] == "" && key != "" {
		q["id"] = key
	}
	if q["id"] != "" {
		if name, err = catalog.ParseJobID(q["id"]); err != nil {
			return err
		}
	}
	file, err := body(w, r, "a job file (YAML)", s.JobBytes)
	if err != nil {
		return err
	}
	v, created, err := s.Controller.Submit(r.Context(), id, name, file)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusAccepted
	}
	w.Header().Set("Location", "/v1/jobs/"+string(v.ID))
	writeJSON(w, status, wireJob(v, true))
	return nil
}

func (s *server) listJobs(w http.ResponseWriter, r *http.Request, id tenant.ID) error {
	if _, err := query(r); err != nil {
		return err
	}
	all, err := s.Controller.List(r.Context(), id)
	if err != nil {
		return err
	}
	out := Jobs{Jobs: []Job{}}
	for _, v := range all {
		out.Jobs = append(out.Jobs, wireJob(v, false))
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *server) getJob(w http.ResponseWriter, r *http.Request, id tenant.ID) error {
	name, err := jobID(r)
	if err != nil {
		return err
	}
	q, err := query(r, "wait")
	if err != nil {
		return err
	}
	d, err := wait(q["wait"], 0)
	if err != nil {
		return err
	}
	v, err := s.Controller.WaitEnd(r.Context(), id, name, d)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wireJob(v, true))
	return nil
}

func (s *server) stop(w http.ResponseWriter, r *http.Request, id tenant.ID) error {
	name, err := jobID(r)
	if err != nil {
		return err
	}
	q, err := query(r, "wait", "savepoint", "drain")
	if err != nil {
		return err
	}
	d, err := wait(q["wait"], min(s.StopTimeout, MaxWait))
	if err != nil {
		return err
	}
	savepoint, err := truth("savepoint", q["savepoint"])
	if err != nil {
		return err
	}
	drain, err := truth("drain", q["drain"])
	if err != nil {
		return err
	}
	var v controller.View
	var saved *Checkpoint
	switch {
	case savepoint && drain:
		return fault.Userf("savepoint and drain exclude each other: what a drain fires would be fired again by whoever goes on from the savepoint")
	case drain:
		v, err = s.Controller.Drain(r.Context(), id, name, d)
	case savepoint:
		var made controller.Saved
		if v, made, err = s.Controller.StopSaved(r.Context(), id, name, d); err == nil {
			c := wireSaved(made)
			saved = &c
		}
	default:
		v, err = s.Controller.Stop(r.Context(), id, name, d)
	}
	if err != nil {
		return err
	}
	status := http.StatusOK
	if !controller.State(v.State).Ended() {
		status = http.StatusAccepted
	}
	j := wireJob(v, true)
	j.Savepoint = saved
	writeJSON(w, status, j)
	return nil
}

func (s *server) start(w http.ResponseWriter, r *http.Request, id tenant.ID) error {
	name, err := jobID(r)
	if err != nil {
		return err
	}
	q, err := query(r, "from", "drop_state")
	if err != nil {
		return err
	}
	var how controller.Continue
	if q["from"] != "" {
		if how.From, err = strconv.ParseUint(q["from"], 10, 64); err != nil || how.From == 0 {
			return fault.Userf("from: must be the number of a checkpoint, is %q", q["from"])
		}
	}
	if q["drop_state"] != "" {
		how.Drop = strings.Split(q["drop_state"], ",")
	}
	if r.ContentLength != 0 {
		if how.YAML, err = body(w, r, "a job file (YAML), or nothing", s.JobBytes); err != nil {
			return err
		}
	}
	v, err := s.Controller.GoOn(r.Context(), id, name, how)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, wireJob(v, true))
	return nil
}

// truth reads a parameter that is true or false; left out it is false.
func truth(name, text string) (bool, error) {
	switch text {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, fault.Userf("%s: must be true or false, is %q", name, text)
}

func (s *server) savepoint(w http.ResponseWriter, r *http.Request, id tenant.ID) error {
	name, err := jobID(r)
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	saved, err := s.Controller.Savepoint(r.Context(), id, name)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wireSaved(saved))
	return nil
}

func (s *server) listSaved(w http.ResponseWriter, r *http.Request, id tenant.ID) error {
	name, err := jobID(r)
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	all, err := s.Controller.Saved(r.Context(), id, name)
	if err != nil {
		return err
	}
	out := SavedList{Checkpoints: []Checkpoint{}}
	for _, c := range all {
		out.Checkpoints = append(out.Checkpoints, wireSaved(c))
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *server) deleteJob(w http.ResponseWriter, r *http.Request, id tenant.ID) error {
	name, err := jobID(r)
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	if err := s.Controller.Delete(r.Context(), id, name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *server) results(w http.ResponseWriter, r *http.Request, id tenant.ID) (err error) {
	name, err := jobID(r)
	if err != nil {
		return err
	}
	q, err := query(r, "port", "of", "from")
	if err != nil {
		return err
	}
	port, from := "results", int64(0)
	if q["port"] != "" {
		port = q["port"]
	}
	if q["from"] != "" {
		if from, err = strconv.ParseInt(q["from"], 10, 64); err != nil {
			return fault.Userf("from: must be a number that %s gave, is %q", HeaderNext, q["from"])
		}
	}
	rows, err := s.Controller.Results(r.Context(), id, name, port, q["of"], from)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := rows.Close(); err == nil {
			err = cerr
		}
	}()
	h := w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Content-Length", strconv.FormatInt(rows.Next-from, 10))
	h.Set(HeaderNext, strconv.FormatInt(rows.Next, 10))
	h.Set(HeaderComplete, strconv.FormatBool(rows.Complete))
	w.WriteHeader(http.StatusOK)
	for {
		_ = http.NewResponseController(w).SetWriteDeadline(s.Clock.Now().Add(writeTimeout))
		if _, err := io.CopyN(toClient{w}, rows, pieceBytes); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// toClient tells trouble with the client from trouble with a file.
type toClient struct{ io.Writer }

func (c toClient) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	return n, fault.As(errClientGone, err)
}
