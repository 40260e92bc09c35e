package wasm

import (
	"tidemark/abi"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// params are the arguments of an instance, as the one row that tm_configure gets.
type params struct {
	row    stream.Columns
	cols   []int
	layout []column
}

// newParams binds a job's arguments to a manifest's parameters. The job was checked
// against the same manifest, so errors mean that the module is another one.
func newParams(declared []abi.Param, args []job.Arg) (params, error) {
	var p params
	for i, d := range declared {
		c := stream.Column{Kind: stream.Kind(d.Kind)}
		arg, ok := find(args, d.Name)
		if !ok && d.HasDefault {
			arg, ok = job.Arg{Kind: c.Kind, Int: d.Default.Int, Float: d.Default.Float, Bool: d.Default.Bool, Str: d.Default.Str}, true
		}
		switch {
		case !ok && d.Required:
			return p, fault.Userf("argument %s is missing", d.Name)
		case !ok:
			c.AppendNull()
		case arg.Kind != c.Kind:
			return p, fault.Userf("argument %s is %s, it must be %s", d.Name, arg.Kind, c.Kind)
		case len(arg.Str) > abi.MaxParamText:
			return p, fault.Userf("argument %s has %d bytes, at most %d are allowed", d.Name, len(arg.Str), abi.MaxParamText)
		default:
			p.append(&c, &arg)
		}
		p.row.Cols = append(p.row.Cols, c)
		p.cols = append(p.cols, i)
		p.layout = append(p.layout, column{d.Kind, true})
	}
	for _, a := range args {
		if !declares(declared, a.Name) {
			return p, fault.Userf("there is no parameter %s", a.Name)
		}
	}
	p.row.N = 1
	return p, nil
}

func (p *params) append(c *stream.Column, arg *job.Arg) {
	switch c.Kind {
	case stream.Float64:
		c.AppendFloat(arg.Float)
	case stream.Bool:
		c.AppendBool(arg.Bool)
	case stream.String:
		c.AppendStr(stream.Str{Off: uint32(len(p.row.Blob)), Len: uint32(len(arg.Str))})
		p.row.Blob = append(p.row.Blob, arg.Str...)
	default:
		c.AppendInt(arg.Int)
	}
}

func (p *params) part() part {
	return part{batch: &p.row, cols: p.cols, sel: []uint32{0}, group: []uint32{0}}
}

func find(args []job.Arg, name string) (job.Arg, bool) {
	for _, a := range args {
		if a.Name == name {
			return a, true
		}
	}
	return job.Arg{}, false
}

func declares(declared []abi.Param, name string) bool {
	for _, d := range declared {
		if d.Name == name {
			return true
		}
	}
	return false
}
