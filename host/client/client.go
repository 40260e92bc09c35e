// Package client speaks to a host over HTTP, for the commands and for tests. Errors
// come back in the class that the host gave them; a host that cannot be reached is
// ErrExternal.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// do sends a request and returns its answer if it is good.
func (c *Client) do(ctx context.Context, method, path string, q url.Values, contentType string, body []byte) (*http.Response, error) {
	target := c.base + path
	if len(q) > 0 {
		target += "?" + q.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fault.As(fault.ErrUser, err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
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
	return nil, api.ParseFailure(resp.StatusCode, raw)
}

// call is do for an answer that is JSON, or empty if out is nil.
func (c *Client) call(ctx context.Context, method, path string, q url.Values, contentType string, body []byte, out any) error {
	resp, err := c.do(ctx, method, path, q, contentType, body)
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
		return fault.Externalf("host %s: %w", c.base, err)
	}
	return nil
}

// PushPlugin uploads a module.
func (c *Client) PushPlugin(ctx context.Context, module []byte) (p api.Plugin, err error) {
	return p, c.call(ctx, "POST", "/v1/plugins", nil, "application/wasm", module, &p)
}

// Plugins lists the tenant's modules.
func (c *Client) Plugins(ctx context.Context) ([]api.Plugin, error) {
	var out api.Plugins
	return out.Plugins, c.call(ctx, "GET", "/v1/plugins", nil, "", nil, &out)
}

// Submit starts a job. An empty id lets the host choose one; with an id, asking again
// is safe.
func (c *Client) Submit(ctx context.Context, id string, file []byte) (j api.Job, err error) {
	q := url.Values{}
	if id != "" {
		q.Set("id", id)
	}
	return j, c.call(ctx, "POST", "/v1/jobs", q, "application/yaml", file, &j)
}

// Jobs lists the tenant's jobs, the newest first.
func (c *Client) Jobs(ctx context.Context) ([]api.Job, error) {
	var out api.Jobs
	return out.Jobs, c.call(ctx, "GET", "/v1/jobs", nil, "", nil, &out)
}

// Job returns a job; it waits for its end for at most the given time.
func (c *Client) Job(ctx context.Context, id string, wait time.Duration) (j api.Job, err error) {
	q := url.Values{}
	if wait > 0 {
		q.Set("wait", wait.String())
	}
	return j, c.call(ctx, "GET", "/v1/jobs/"+url.PathEscape(id), q, "", nil, &j)
}

// Stop asks a job to end and waits for that as the host is set up.
func (c *Client) Stop(ctx context.Context, id string) (j api.Job, err error) {
	return j, c.call(ctx, "POST", "/v1/jobs/"+url.PathEscape(id)+"/stop", nil, "", nil, &j)
}

// Delete forgets a job that has ended.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.call(ctx, "DELETE", "/v1/jobs/"+url.PathEscape(id), nil, "", nil, nil)
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
	resp, err := c.do(ctx, "GET", "/v1/jobs/"+url.PathEscape(id)+"/results", q, "", nil)
	if err != nil {
		return Piece{}, err
	}
	next, err := strconv.ParseInt(resp.Header.Get(api.HeaderNext), 10, 64)
	if err != nil {
		return Piece{}, errors.Join(fault.Externalf("host %s: %s: %w", c.base, api.HeaderNext, err), resp.Body.Close())
	}
	return Piece{resp.Body, next, resp.Header.Get(api.HeaderComplete) == "true"}, nil
}

// Version tells what the host is.
func (c *Client) Version(ctx context.Context) (v api.Version, err error) {
	if err := c.call(ctx, "GET", "/version", nil, "", nil, &v); err != nil {
		return v, fmt.Errorf("version: %w", err)
	}
	return v, nil
}
