package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tidemark/host/api"
	"tidemark/host/client"
	"tidemark/host/controller"
	"tidemark/internal/fault"
)

// defaultHost is where `serve` listens unless told otherwise.
const defaultHost = "127.0.0.1:7070"

// remote is what every command that speaks to a host has in common.
type remote struct {
	host, token string
	form        *form
}

// remoteFlags adds --host and --token.
func remoteFlags(cmd *cobra.Command) *remote {
	r := &remote{}
	f := cmd.Flags()
	f.StringVar(&r.host, "host", "", "address of the host (TIDEMARK_HOST; else "+defaultHost+")")
	f.StringVar(&r.token, "token", "", "the tenant's token (TIDEMARK_TOKEN)")
	return r
}

// shownFlags adds -o as well.
func shownFlags(cmd *cobra.Command) *remote {
	r := remoteFlags(cmd)
	r.form = outputFlag(cmd, asTable, asJSON, asYAML)
	return r
}

// client makes the client that flags and environment ask for.
func (r *remote) client() (*client.Client, error) {
	host, token := r.host, r.token
	if host == "" {
		host = os.Getenv("TIDEMARK_HOST")
	}
	if host == "" {
		host = defaultHost
	}
	if token == "" {
		token = os.Getenv("TIDEMARK_TOKEN")
	}
	if token == "" {
		return nil, fault.As(fault.ErrDenied, errors.New("no token: set --token or TIDEMARK_TOKEN; tidemark token create TENANT makes one on the host"))
	}
	return client.New(host, token)
}

// show writes v in the form of -o, where table writes it for people.
func (r *remote) show(out io.Writer, v any, table func(io.Writer)) error {
	if *r.form == asTable {
		table(out)
		return nil
	}
	return r.form.emit(out, v)
}

// waitForEnd asks until the job has ended, or ctx has.
func waitForEnd(ctx context.Context, c *client.Client, id string) (api.Job, error) {
	const each = 30 * time.Second // below what proxies allow a request
	for {
		j, err := c.Job(ctx, id, each)
		if err != nil || controller.State(j.State).Ended() {
			return j, err
		}
	}
}
