// Package client speaks to a host over HTTP, for the commands and for tests. Errors
// come back in the class that the host gave them; a host that cannot be reached is
// ErrExternal.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tidemark/host/api"
	"tidemark/internal/fault"
)

// Client is one tenant's way to one host. Safe for concurrent use.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// maxErrorBytes bounds what is read of an answer that is an error.
const maxErrorBytes = 1 << 20

// New makes a client; host is a URL or host:port.
func New(host, token string) (*Client, error) {
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	u, err := url.Parse(host)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fault.Userf("host %q: must be host:port or a URL with http or https", host)
	}
	// A redirect is an error: the token must not go to where somebody points.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: strings.TrimSuffix(u.String(), "/"), token: token, http: &http.Client{CheckRedirect: stay}}, nil
}

// request is what is sent.
type request struct {
	method, path string
	query        url.Values
	contentType  string
	body         []byte
	file         string // what the body is called, for messages that name a place in it
}

// do sends a request and returns its answer if it is good.
func (c *Client) do(ctx context.Context, q request) (*http.Response, error) {
	target := c.base + q.path
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, q.method, target, bytes.NewReader(q.body))
	if err != nil {
		return nil, fault.As(fault.ErrUser, err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if q.contentType != "" {
		r.Header.Set("Content-Type", q.contentType)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.Externalf("host %s: %w", c.base, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fault.Externalf("host %s: %w", c.base, err)
	}
	return nil, api.ParseFailure(resp.StatusCode, raw, q.file)
}

// call is do for an answer that is JSON, or empty if out is nil.
func (c *Client) call(ctx context.Context, q request, out any) error {
	resp, err := c.do(ctx, q)
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(resp.Body)
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	if err == nil && out != nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.Externalf("host %s: %w", c.base, err)
	}
	return nil
}

// jobPath is where a job of the tenant is.
func jobPath(id string) string { return "/v1/jobs/" + url.PathEscape(id) }

// PushPlugin uploads a module.
func (c *Client) PushPlugin(ctx context.Context, module []byte) (p api.Plugin, err error) {
	err = c.call(ctx, request{method: "POST", path: "/v1/plugins", contentType: "application/wasm", body: module}, &p)
	return p, err
}

// Plugins lists the tenant's modules.
func (c *Client) Plugins(ctx context.Context) ([]api.Plugin, error) {
	var out api.Plugins
	err := c.call(ctx, request{method: "GET", path: "/v1/plugins"}, &out)
	return out.Plugins, err
}

// Submit starts a job. An empty id lets the host choose one; with an id, asking again
// is safe. name is what the file is called in messages.
func (c *Client) Submit(ctx context.Context, id, name string, file []byte) (j api.Job, err error) {
	q := url.Values{}
	if id != "" {
		q.Set("id", id)
	}
	err = c.call(ctx, request{method: "POST", path: "/v1/jobs", query: q, contentType: "application/yaml", body: file, file: name}, &j)
	return j, err
}

// Jobs lists the tenant's jobs, the newest first.
func (c *Client) Jobs(ctx context.Context) ([]api.Job, error) {
	var out api.Jobs
	err := c.call(ctx, request{method: "GET", path: "/v1/jobs"}, &out)
	return out.Jobs, err
}

// Job returns a job; it waits for its end for at most the given time.
func (c *Client) Job(ctx context.Context, id string, wait time.Duration) (j api.Job, err error) {
	q := url.Values{}
	if wait > 0 {
		q.Set("wait", wait.String())
	}
	err = c.call(ctx, request{method: "GET", path: jobPath(id), query: q}, &j)
	return j, err
}

// Stop asks a job to end and waits for that as the host is set up. savepoint: the job takes
// one first; drain: it ends as if its input did.
func (c *Client) Stop(ctx context.Context, id string, savepoint, drain bool) (j api.Job, err error) {
	q := url.Values{}
	for name, on := range map[string]bool{"savepoint": savepoint, "drain": drain} {
		if on {
			q.Set(name, "true")
		}
	}
	err = c.call(ctx, request{method: "POST", path: jobPath(id) + "/stop", query: q}, &j)
	return j, err
}

// Start has a job that has ended go on: from a checkpoint, 0 for the last one, giving up the
// state of operators in drop. file is a changed job file, name what it is called in messages;
// nil: the one it has.
func (c *Client) Start(ctx context.Context, id string, from uint64, drop []string, name string, file []byte) (j api.Job, err error) {
	q := url.Values{}
	if from > 0 {
		q.Set("from", strconv.FormatUint(from, 10))
	}
	if len(drop) > 0 {
		q.Set("drop_state", strings.Join(drop, ","))
	}
	err = c.call(ctx, request{method: "POST", path: jobPath(id) + "/start", query: q, contentType: "application/yaml", body: file, file: name}, &j)
	return j, err
}

// Savepoint has a running job take a savepoint, and waits for it.
func (c *Client) Savepoint(ctx context.Context, id string) (s api.Checkpoint, err error) {
	err = c.call(ctx, request{method: "POST", path: jobPath(id) + "/savepoints"}, &s)
	return s, err
}

// Checkpoints lists the checkpoints and savepoints of a job, the oldest first.
func (c *Client) Checkpoints(ctx context.Context, id string) ([]api.Checkpoint, error) {
	var out api.SavedList
	err := c.call(ctx, request{method: "GET", path: jobPath(id) + "/checkpoints"}, &out)
	return out.Checkpoints, err
}

// Delete forgets a job that has ended.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.call(ctx, request{method: "DELETE", path: jobPath(id)}, nil)
}

// Piece is a part of a job's output: whole lines. The caller closes it.
type Piece struct {
	io.ReadCloser
	Next     int64 // where the next one begins
	Complete bool  // nothing follows
}

// Results opens an output of a job; of may be empty where only one operator has the
// port.
func (c *Client) Results(ctx context.Context, id, port, of string, from int64) (Piece, error) {
	q := url.Values{"port": {port}, "from": {strconv.FormatInt(from, 10)}}
	if of != "" {
		q.Set("of", of)
	}
	resp, err := c.do(ctx, request{method: "GET", path: jobPath(id) + "/results", query: q})
	if err != nil {
		return Piece{}, err
	}
	next, err := strconv.ParseInt(resp.Header.Get(api.HeaderNext), 10, 64)
	if err != nil {
		return Piece{}, errors.Join(fault.Externalf("host %s: %s: %w", c.base, api.HeaderNext, err), resp.Body.Close())
	}
	return Piece{resp.Body, next, resp.Header.Get(api.HeaderComplete) == "true"}, nil
}
