package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tidemark/abi"
	"tidemark/engine/laws"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// What plugin check generates by default: enough for every case to come up often, in a
// second or two.
const (
	defaultCheckRecords = 2_000
	maxCheckRecords     = 1_000_000
)

func newPluginCheckCommand() *cobra.Command {
	var c pluginCheck
	cmd := &cobra.Command{
		Use:   "check FILE.wasm",
		Short: "check all that a host asks of a plug-in, and that it keeps the laws",
		Long: "Checks a plug-in in the order in which a host meets it: what an upload is checked for, that it compiles within a\n" +
			"host's limits and starts with its arguments, and then the laws of its kind (abi/SPEC.md, section 6), on generated\n" +
			"records and on those of --data: JSON lines, or CSV with a header, whose columns are named like the inputs.\n\n" +
			"A broken law is shown on the smallest input that was found. Records that the plug-in refuses are no fault.\n" +
			"Exit code 1: a law is broken; 2: a host would refuse the file.",
		Example: "  tidemark plugin check hv.wasm --data orders.jsonl --args limit=250",
		Args:    exactly(1, "the file of a plug-in"),
	}
	flags := cmd.Flags()
	flags.StringVar(&c.data, "data", "", "records of your own, beside those that are generated")
	flags.StringSliceVar(&c.args, "args", nil, "arguments: NAME=VALUE,…")
	flags.Uint64Var(&c.seed, "seed", 0, "what generated records follow from (default: another one each time, which is printed)")
	flags.IntVar(&c.records, "records", defaultCheckRecords, "how many records to generate")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.seeded = flags.Changed("seed")
		if c.records < 0 || c.records > maxCheckRecords {
			return usagef("plugin check: --records must be 0 to %d, is %d", maxCheckRecords, c.records)
		}
		return c.run(cmd.Context(), cmd.OutOrStdout(), args[0])
	}
	return cmd
}

// pluginCheck is a run of plugin check.
type pluginCheck struct {
	data    string
	args    []string
	seed    uint64
	seeded  bool
	records int
}

// checkLine writes what came of a check.
func checkLine(w io.Writer, verdict, what, format string, args ...any) {
	fmt.Fprintf(w, "%-7s %-9s %s\n", verdict, what, fmt.Sprintf(format, args...))
}

func (c *pluginCheck) run(ctx context.Context, w io.Writer, name string) (err error) {
	_, problems, err := readModule(name)
	if err != nil {
		return err
	}
	for _, p := range problems {
		checkLine(w, "refused", "upload", "%s", p)
	}
	if len(problems) > 0 {
		return &quietError{exitUsage}
	}
	checkLine(w, "ok", "upload", "the module is what a host takes, and can be metered")
	shape, err := measureFile(name)
	if err != nil {
		return err
	}
	shape.warn(w)
	if !c.seeded {
		seed, err := randomSeed()
		if err != nil {
			return err
		}
		c.seed = seed
	}
	x, err := examine(ctx, name, c.args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	o := laws.Options{Seed: c.seed, Records: c.records}
	if c.data != "" {
		inputs, err := x.ownInputs()
		if err != nil {
			return err
		}
		if o.Own, err = readOwn(c.data, inputs); err != nil {
			return err
		}
	}
	r, err := x.check(ctx, o)
	if errors.Is(err, fault.ErrUser) || errors.Is(err, fault.ErrGuest) {
		checkLine(w, "refused", "start", "%v", err)
		return &quietError{exitUsage}
	}
	if err != nil {
		return err
	}
	checkLine(w, "ok", "start", "%s %s compiles within a host's limits, and starts", x.Name, x.Version)
	c.show(w, r, len(o.Own))
	if r.Broken() {
		return &quietError{exitFailed}
	}
	return nil
}

// randomSeed is short, so that a person can copy it.
func randomSeed() (uint64, error) {
	var b [3]byte
	if _, err := io.ReadFull(env.Real().Rand, b[:]); err != nil {
		return 0, fault.Externalf("a seed: %w", err)
	}
	return uint64(b[0])<<16 | uint64(b[1])<<8 | uint64(b[2]), nil
}

// ownInputs are the columns that an author's records bring.
func (x *examined) ownInputs() ([]abi.Column, error) {
	switch {
	case x.Aggregate != nil:
		return x.Aggregate.Inputs, nil
	case x.Map != nil:
		return x.Map.Inputs, nil
	case x.Generator != nil:
		return x.Generator.Inputs, nil
	case x.Manifest.Trigger != nil:
		return x.Manifest.Trigger.Inputs, nil
	case x.Assigner != nil:
		return x.Assigner.Inputs, nil
	}
	return nil, usagef("plugin check: --data has one record a line, and this plug-in is shown lists of them; test it with plugin test")
}

func (c *pluginCheck) show(w io.Writer, r *laws.Report, own int) {
	if len(r.Laws) == 0 {
		checkLine(w, "-", "laws", "none are judged of plug-ins of this kind")
		return
	}
	records := fmt.Sprintf("seed %d: %s taken", c.seed, count(int64(r.Taken), "record"))
	if own > 0 {
		records += fmt.Sprintf(" (%s of your own, again in pieces)", thousands(int64(own)))
	}
	for _, l := range []struct {
		n       int
		what    string
		message string
	}{{r.Refused, "refused", r.RefusedMessage}, {r.Trapped, "broke it down", r.TrappedMessage}} {
		if l.n > 0 {
			records += fmt.Sprintf("; %s %s: %s", thousands(int64(l.n)), l.what, clip(l.message, 200))
		}
	}
	checkLine(w, "ok", "records", "%s", records)
	for i := range r.Laws {
		l := &r.Laws[i]
		verdict := map[bool]string{true: "BROKEN", false: "ok"}[l.Broken != nil]
		if l.Broken == nil && l.Judged == 0 {
			verdict = "-"
		}
		unjudged := ""
		if l.Unjudged > 0 && l.Judged > 0 {
			unjudged = fmt.Sprintf(", %s more said nothing", thousands(int64(l.Unjudged)))
		}
		checkLine(w, verdict, l.Name, "%s: %s (%s%s)", l.Says, l.Outcome(), count(int64(l.Judged), "comparison"), unjudged)
		if l.Broken != nil {
			w.Write(brokenLaw(l.Broken)) // as all of standard output
		}
	}
}

// maxBrokenRecords bounds the input that is shown; what is shrunk has a few.
const maxBrokenRecords = 20

func brokenLaw(b *laws.Broken) []byte {
	var out bytes.Buffer
	indent := "                  "
	fmt.Fprintf(&out, "%s%s\n", indent, b.How)
	if len(b.Input) == 0 {
		fmt.Fprintf(&out, "%s  no records at all\n", indent)
	}
	for i, line := range b.Input {
		if i == maxBrokenRecords {
			fmt.Fprintf(&out, "%s  … and %d more\n", indent, len(b.Input)-i)
			break
		}
		fmt.Fprintf(&out, "%s  record %s\n", indent, line)
	}
	fmt.Fprintf(&out, "%s  want   %s\n%s  got    %s\n", indent, b.Want, indent, b.Got)
	return out.Bytes()
}
