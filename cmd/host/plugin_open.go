package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/engine/job"
	"tidemark/engine/laws"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/wasm"
	"tidemark/host/controller"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// examined is a plug-in that the tools for authors work on: a file with arguments, and
// instances of it as a host makes them.
type examined struct {
	*abi.Manifest
	args    []job.Arg
	plug    *job.Plugin
	modules *controller.ModuleCache
	remove  string // a directory of machine code of our own

	touched bool              // see laws.Aggregate
	watch   func(c wasm.Call) // is told of each call; may be nil
}

// readModule reads a file, and whatever would keep a host from taking it, all at once.
func readModule(name string) (m *binary.Module, problems []string, err error) {
	file, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, fault.As(fault.ErrUser, err)
	}
	r := bytes.NewReader(file)
	if m, err = binary.Read(r); err != nil {
		return nil, nil, moduleError{name, err}
	}
	if err := binary.Check(m); err != nil {
		problems = strings.Split(err.Error(), "\n")
	}
	if err := checkMetering(r); err != nil {
		problems = append(problems, err.Error())
	}
	return m, problems, nil
}

// examine compiles a module that a host would take, as a host does: in a process of its
// own, within limits. The caller closes it.
func examine(ctx context.Context, name string, args []string) (x *examined, err error) {
	x = &examined{plug: &job.Plugin{Name: name, File: name}}
	dir, err := cacheDir()
	if err != nil {
		if dir, err = os.MkdirTemp("", "tidemark-"); err != nil {
			return nil, fault.Externalf("a directory for machine code: %w", err)
		}
		x.remove = dir
	}
	if x.modules, err = controller.OpenTenantModules(ctx, env.Real(), dir, compileElsewhere); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	x.modules.Observe(func(c wasm.Call) {
		x.touched = x.touched || c.Touched
		if x.watch != nil {
			x.watch(c)
		}
	})
	info, err := x.modules.Describe(x.plug)
	if err == nil {
		err = x.describe(name)
	}
	if err == nil {
		x.args, err = parseArgs(args, info.Params)
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func (x *examined) describe(name string) error {
	m, problems, err := readModule(name)
	if err == nil && len(problems) > 0 {
		err = fault.Userf("%s: a host would refuse it: %s", name, strings.Join(problems, "; "))
	}
	if err == nil {
		x.Manifest, err = m.Manifest()
	}
	if err == nil {
		x.plug.Name = x.Name
	}
	return err
}

// Close frees the compiled module. Instances were closed before.
func (x *examined) Close() error {
	var errs []error
	if x.modules != nil {
		errs = append(errs, x.modules.Close(context.Background()))
	}
	if x.remove != "" {
		errs = append(errs, os.RemoveAll(x.remove))
	}
	return errors.Join(errs...)
}

// parseArgs reads name=value texts.
func parseArgs(texts []string, params []job.Param) (out []job.Arg, err error) {
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		i := slices.IndexFunc(params, func(p job.Param) bool { return p.Name == name })
		switch {
		case !ok:
			return nil, usagef("--args: %q is not NAME=VALUE", text)
		case i < 0:
			var names []string
			for _, p := range params {
				names = append(names, p.Name)
			}
			if len(names) == 0 {
				return nil, usagef("--args: the plug-in takes no arguments, %s is given", name)
			}
			return nil, usagef("--args: there is no parameter %s, only %s", name, strings.Join(names, ", "))
		}
		v, err := parseValue(params[i].Kind, value)
		if err != nil {
			return nil, usagef("--args: %s: %w", name, err)
		}
		out = append(out, job.Arg{Name: name, Kind: params[i].Kind, Int: v.Int, Float: v.Float, Bool: v.Bool, Str: v.Text})
	}
	return out, nil
}

// parseValue reads a value as people write it. Times are RFC 3339 or milliseconds.
func parseValue(k stream.Kind, text string) (v laws.Value, err error) {
	switch k {
	case stream.String:
		v.Text = text
	case stream.Bool:
		v.Bool, err = strconv.ParseBool(text)
	case stream.Float64:
		v.Float, err = strconv.ParseFloat(text, 64)
	case stream.Timestamp:
		v.Int, err = parseMoment(text)
	default:
		v.Int, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil {
		err = fmt.Errorf("%q is no %s", text, k)
	}
	return v, err
}

// The instances. Inputs are bound to columns of the kinds that they ask for.

func kindsOf(columns []abi.Column) (kinds []stream.Kind) {
	for _, c := range columns {
		kinds = append(kinds, stream.Kind(c.Kind))
	}
	return kinds
}

func (x *examined) openAggregate(ctx context.Context) (udf.Aggregate, error) {
	return x.modules.Aggregate(ctx, x.plug, &job.Aggregate{Plugin: x.Name, Args: x.args}, kindsOf(x.Aggregate.Inputs))
}

func (x *examined) openMap(ctx context.Context) (udf.Map, error) {
	return x.modules.Map(ctx, x.plug, &job.Map{Plugin: x.Name, Args: x.args}, kindsOf(x.Map.Inputs))
}

func (x *examined) openPair(ctx context.Context) (udf.Pair, error) {
	return x.modules.Pair(ctx, x.plug, &job.Apply{Plugin: x.Name, Args: x.args}, kindsOf(x.Pair.Left), kindsOf(x.Pair.Right))
}

func (x *examined) openProcess(ctx context.Context) (udf.Process, error) {
	var lists [][]stream.Kind
	for _, l := range x.Process.Lists {
		lists = append(lists, kindsOf(l))
	}
	return x.modules.Process(ctx, x.plug, &job.Process{Plugin: x.Name, Args: x.args}, kindsOf(x.Process.Inputs), lists)
}

func (x *examined) openGenerator(ctx context.Context) (udf.Generator, error) {
	return x.modules.Generator(ctx, x.plug, &job.Watermark{Plugin: x.Name, Args: x.args}, kindsOf(x.Generator.Inputs))
}

func (x *examined) openTrigger(ctx context.Context) (udf.Trigger, error) {
	return x.modules.Trigger(ctx, x.plug, &job.Trigger{Plugin: x.Name, Args: x.args}, kindsOf(x.Manifest.Trigger.Inputs))
}

func (x *examined) openAssigner(ctx context.Context) (udf.Assigner, error) {
	return x.modules.Assigner(ctx, x.plug, &job.Window{Kind: job.PluginWindow, Plugin: x.Name, Args: x.args}, kindsOf(x.Manifest.Assigner.Inputs))
}

// once opens a function to see what it is, and that it starts with the arguments.
func once[F interface{ Close() error }, I any](ctx context.Context, open func(context.Context) (F, error), info func(F) I) (i I, err error) {
	f, err := open(ctx)
	if err != nil {
		return i, err
	}
	return info(f), f.Close()
}

// check judges the laws of the plug-in's kind.
func (x *examined) check(ctx context.Context, o laws.Options) (*laws.Report, error) {
	switch {
	case x.Aggregate != nil:
		return laws.Aggregate{
			Open:    func() (udf.Aggregate, error) { return x.openAggregate(ctx) },
			Touched: func() bool { was := x.touched; x.touched = false; return was },
		}.Check(o)
	case x.Map != nil:
		info, err := once(ctx, x.openMap, udf.Map.Info)
		if err != nil {
			return nil, err
		}
		return laws.Maps(info, func() (udf.Map, error) { return x.openMap(ctx) }).Check(o)
	case x.Pair != nil:
		info, err := once(ctx, x.openPair, udf.Pair.Info)
		if err != nil {
			return nil, err
		}
		return laws.Pairs(info, func() (udf.Pair, error) { return x.openPair(ctx) }).Check(o)
	case x.Process != nil:
		info, err := once(ctx, x.openProcess, udf.Process.Info)
		if err != nil {
			return nil, err
		}
		return laws.Processes(info, func() (udf.Process, error) { return x.openProcess(ctx) }).Check(o)
	case x.Generator != nil:
		info, err := once(ctx, x.openGenerator, udf.Generator.Info)
		if err != nil {
			return nil, err
		}
		return laws.Generators(info, func() (udf.Generator, error) { return x.openGenerator(ctx) }).Check(o)
	case x.Manifest.Trigger != nil:
		info, err := once(ctx, x.openTrigger, udf.Trigger.Info)
		if err != nil {
			return nil, err
		}
		return laws.Trigger{Info: info, Open: func() (udf.Trigger, error) { return x.openTrigger(ctx) }}.Check(o)
	case x.Assigner != nil:
		info, err := once(ctx, x.openAssigner, udf.Assigner.Info)
		if err != nil {
			return nil, err
		}
		return laws.Assigners(info, func() (udf.Assigner, error) { return x.openAssigner(ctx) }).Check(o)
	}
	panic("BUG: a manifest without a kind")
}
