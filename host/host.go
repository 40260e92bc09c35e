// Package host runs many jobs of many tenants in one process. It starts the parts in
// order, stops them in the reverse order, and wires them to each other; what each part
// does, is its own affair.
//
//	config      what the operator has said
//	catalog     the database of tenants, tokens, plug-ins and jobs
//	registry    modules, by tenant and digest
//	controller  jobs and their lives
//	turns       the CPU, shared between tenants
//	metrics     numbers for operators
//	api         HTTP over all that
//
// Goroutines: the HTTP server's, and the controller's, one for each live job. Serve
// waits for both.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"tidemark/host/api"
	"tidemark/host/catalog"
	"tidemark/host/config"
	"tidemark/host/controller"
	"tidemark/host/metrics"
	"tidemark/host/registry"
	"tidemark/host/tenant"
	"tidemark/host/turns"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// Options is what a host is started with.
type Options struct {
	Config  config.Config // Data and Inputs are absolute
	Version api.Version
	Machine env.Env
	Log     *slog.Logger
	// Compile has a tenant's module compiled by another process.
	Compile controller.Compile
	// Listening is told the address, once requests are taken.
	Listening func(net.Addr)
}

// Limits of the HTTP server. Reading a whole request has a limit of its own, since an
// upload of 8 MiB over a slow line takes a while; answers have theirs in package api.
// The server takes a connection that says nothing for so long as gone, also while it
// is being answered: a request that waits for a job must stay below it.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 2 * api.MaxWait
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10 // a token and a few names
)

// Serve runs a host until ctx ends, and returns when everything has stopped. An error
// of class ErrUser or ErrConflict means that it could not start as it was told to.
func Serve(ctx context.Context, o Options) (err error) {
	files := o.Machine.FS
	if o.Config.Inputs != "" {
		if info, err := files.Stat(o.Config.Inputs); err != nil || !info.IsDir() {
			return fault.Userf("inputs: %s is not a directory", o.Config.Inputs)
		}
	}
	closing := func(f func() error) {
		if cerr := f(); cerr != nil {
			err = errors.Join(err, cerr)
		}
	}
	cat, err := catalog.Open(ctx, o.Config.Data, o.Machine)
	if err != nil {
		return err
	}
	defer closing(cat.Close)
	release, err := catalog.Lock(ctx, o.Config.Data)
	if err != nil {
		return err
	}
	defer closing(release)
	modules, err := controller.OpenTenantModules(ctx, o.Machine, filepath.Join(o.Config.Data, "compiled"), o.Compile)
	if err != nil {
		return err
	}
	reg, err := registry.Open(o.Config.Data, cat, o.Machine, o.Config.Quota, modules.Try)
	if err != nil {
		return errors.Join(err, modules.Close(ctx))
	}
	shares, err := turns.New(turns.Options{AtOnce: o.Config.Turns.AtOnce, Weights: weights(o.Config.Turns.Weights), Now: o.Machine.Clock.Now})
	if err != nil {
		return err
	}
	ctl, err := controller.New(controller.Options{
		Data: o.Config.Data, Inputs: o.Config.Inputs, Catalog: cat, Registry: reg, Modules: modules, Turns: shares,
		Machine: o.Machine, Quota: o.Config.Quota, Log: o.Log,
	})
	if err != nil {
		return err
	}
	resumed, interrupted, err := ctl.Recover(ctx)
	if err != nil {
		return err
	}
	if resumed > 0 {
		o.Log.Info("jobs of the last process go on from their checkpoints", "jobs", resumed)
	}
	if interrupted > 0 {
		o.Log.Warn("jobs of the last process are marked interrupted, since they cannot go on", "jobs", interrupted)
	}
	m := metrics.New(o.Version.Version, o.Version.Go, o.Version.ABI, ctl.Live, shares.Tenants)
	server := &http.Server{
		Handler: api.New(api.Options{
			Controller: ctl, Registry: reg, Auth: authenticate(cat), Ready: cat.Ping, Version: o.Version,
			Metrics: m.Handler(), Observe: m.Request, Clock: o.Machine.Clock, Log: o.Log,
			StopTimeout: o.Config.StopTimeout, JobBytes: o.Config.Quota.JobBytes,
		}),
		ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	l, err := net.Listen("tcp", o.Config.Listen)
	if err != nil {
		return fault.As(fault.ErrUser, fmt.Errorf("listen: %w", err))
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		o.Log.Warn("listening beyond this machine without TLS: tokens and data are readable on the way; put a proxy with TLS in front", "address", a.String())
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	if o.Listening != nil {
		o.Listening(l.Addr())
	}
	var broken error
	select {
	case <-ctx.Done():
	case broken = <-served:
		served <- broken
	}
	return errors.Join(stop(o, server, ctl, modules), ended(<-served))
}

// weights are those of the configuration, by the names that package turns knows.
func weights(of map[tenant.ID]int) map[string]int {
	out := map[string]int{}
	for id, w := range of {
		out[string(id)] = w
	}
	return out
}

// ended drops the error by which a server says that it was told to stop.
func ended(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fault.As(fault.ErrExternal, err)
}

// stop ends jobs and requests, in this order: a request that waits for a job is
// answered with how it ended.
func stop(o Options, server *http.Server, ctl *controller.Controller, modules *controller.ModuleCache) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.Config.ShutdownTimeout)
	defer cancel()
	o.Log.Info("stopping")
	jerr := ctl.Close(ctx)
	if jerr != nil {
		jerr = fault.As(fault.ErrExternal, fmt.Errorf("within %v: %w; a module that takes long to compile does this. The next start marks them interrupted", o.Config.ShutdownTimeout, jerr))
	} else {
		jerr = modules.Close(ctx)
	}
	herr := server.Shutdown(ctx)
	if herr != nil {
		herr = errors.Join(fault.As(fault.ErrExternal, fmt.Errorf("requests still open: %w", herr)), server.Close())
	}
	return errors.Join(jerr, herr)
}

// authenticate finds whose a token is.
func authenticate(cat *catalog.Catalog) func(context.Context, string) (tenant.ID, error) {
	denied := fault.As(fault.ErrDenied, errors.New("the token is not valid"))
	return func(ctx context.Context, text string) (tenant.ID, error) {
		id, ok := tenant.TokenID(text)
		if !ok {
			return "", denied
		}
		owner, stored, err := cat.Token(ctx, id)
		if errors.Is(err, fault.ErrUnknown) || err == nil && !stored.Matches(text) {
			return "", denied
		}
		return owner, err
	}
}
