package main

import (
	bin "encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/abi/meter"
	"tidemark/abi/toolchain"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// newPluginCommand makes `tidemark plugin`: what an author does on this machine.
func newPluginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "make, build and look at plug-ins",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%s has no command %q; %s --help lists them", name(cmd), args[0], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPluginNewCommand(), newPluginBuildCommand(), newPluginInspectCommand(), newPluginCheckCommand(), newPluginTestCommand(), newPluginBenchCommand(), newPluginConformanceCommand(), newPluginPushCommand())
	return cmd
}

func newPluginNewCommand() *cobra.Command {
	var lang, kind string
	languages := strings.Join(toolchain.Languages(), ", ")
	cmd := &cobra.Command{
		Use:   "new --lang LANGUAGE [--kind KIND] NAME",
		Short: "write a project for a new plug-in",
		Long: "Write a project for a new plug-in into the directory NAME, which must be new or empty: an example of the kind, its\n" +
			"tests, and the SDK, so that it builds without a network. NAME may be a path; its last part names the plug-in.",
		Args: exactly(1, "the name of the plug-in"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lang == "" {
				return usagef("plugin new: say the language with --lang; there is an SDK for %s", languages)
			}
			if err := toolchain.New(env.Real().FS, lang, kind, args[0]); err != nil {
				return fmt.Errorf("plugin new: %w", err)
			}
			w := cmd.ErrOrStderr()
			fmt.Fprintf(w, "made %s: %s and tidemark plugin build work there\n", args[0], toolchain.TestCommand(lang))
			if _, err := toolchain.Compiler(cmd.Context(), lang, args[0]); err != nil {
				fmt.Fprintf(w, "but not yet: %v\n", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "", "language: "+languages)
	cmd.Flags().StringVar(&kind, "kind", toolchain.Kinds("go")[0], "kind: "+strings.Join(toolchain.Kinds("go"), ", "))
	return cmd
}

func newPluginBuildCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "compile a plug-in and put its manifest into it",
		Long: "Compile the plug-in in DIR, or here, ask it for its manifest and write the module. The same sources and the same\n" +
			"compiler give the same bytes.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("plugin build takes one directory, got %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			built, err := toolchain.Build(cmd.Context(), dir)
			if err != nil {
				return fmt.Errorf("plugin build: %w", err)
			}
			name := out
			if name == "" {
				name = filepath.Join(dir, built.Manifest.Name+".wasm")
			}
			if err := built.Save(env.Real().FS, name); err != nil {
				return fmt.Errorf("plugin build: %w", err)
			}
			w := cmd.OutOrStdout()
			fmt.Fprintf(w, "%s: %s %s, %s bytes\nsha256:%s\n", name,
				built.Manifest.Name, built.Manifest.Version, thousands(int64(len(built.Module))), built.Digest)
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "file of the module (default DIR/NAME.wasm)")
	return cmd
}

func newPluginInspectCommand() *cobra.Command {
	var output *form
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "show what a module is, without running it",
		Long: "Show a WebAssembly file: its manifest, what it exports and imports, its sizes, and, if no host would take it, all\n" +
			"that is wrong with it. Nothing of it is run. The exit code is 0 for any WebAssembly file; whether it is a plug-in\n" +
			"says the first line, or the member plugin of -o json.",
		Args: exactly(1, "the file of a module"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return fault.As(fault.ErrUser, err)
			}
			defer f.Close() // only read from
			m, err := binary.Read(f)
			if err != nil {
				return moduleError{args[0], err}
			}
			v := viewModule(m)
			if v.Plugin {
				if err := checkMetering(f); err != nil {
					v.Plugin, v.Problems = false, []string{err.Error()}
				}
			}
			if v.Shape, err = measureFile(args[0]); err != nil && v.Plugin {
				return err // the rewriter has read it
			}
			if *output == asJSON {
				return output.emit(cmd.OutOrStdout(), v)
			}
			v.show(cmd.OutOrStdout())
			return nil
		},
	}
	output = outputFlag(cmd, asTable, asJSON)
	return cmd
}

// checkMetering tells whether a module that could be a plug-in can be metered.
func checkMetering(f io.ReadSeeker) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	file, err := io.ReadAll(f) // of a plug-in's size at most
	if err == nil {
		_, err = meter.Rewrite(file)
	}
	return err
}

// moduleView is what inspect tells.
type moduleView struct {
	Digest     string         `json:"digest"`
	Size       int64          `json:"size"`
	Plugin     bool           `json:"plugin"` // a host would take it
	Problems   []string       `json:"problems,omitempty"`
	ABI        *uint32        `json:"abi,omitempty"` // as the marker says
	Name       string         `json:"name,omitempty"`
	Version    string         `json:"version,omitempty"`
	SDK        string         `json:"sdk,omitempty"`
	Aggregate  *aggregateView `json:"aggregate,omitempty"`
	Process    *processView   `json:"process,omitempty"`
	Pair       *pairView      `json:"pair,omitempty"`
	Watermark  *generatorView `json:"watermark,omitempty"`
	Map        *mapView       `json:"map,omitempty"`
	Trigger    *triggerView   `json:"trigger,omitempty"`
	Assigner   *assignerView  `json:"assigner,omitempty"`
	Upgrades   []upgradeView  `json:"upgrades,omitempty"`
	Exports    []linkView     `json:"exports"`
	Imports    []linkView     `json:"imports"`
	Memory     []memoryView   `json:"memory"`
	Functions  int            `json:"functions"`
	CodeBytes  int64          `json:"code_bytes"`
	DataBytes  int64          `json:"data_bytes"`
	LargestFun int64          `json:"largest_function_bytes"`
	Shape      *shapeView     `json:"shape,omitempty"` // of code that can be read
	Sections   []sectionView  `json:"sections"`
}

type aggregateView struct {
	Inputs           []columnView `json:"inputs"`
	Outputs          []columnView `json:"outputs"`
	Params           []columnView `json:"params"`
	Width            int          `json:"accumulator_width"` // 0: varies
	Schema           uint32       `json:"accumulator_schema"`
	OrderInsensitive bool         `json:"order_insensitive"`
	Exact            bool         `json:"exact"`
}

type processView struct {
	Inputs      []columnView  `json:"inputs"`
	Records     *[]columnView `json:"records,omitempty"`
	Left        *[]columnView `json:"left,omitempty"`
	Right       *[]columnView `json:"right,omitempty"`
	Outputs     []columnView  `json:"outputs"`
	Side        []sideView    `json:"side"`
	Params      []columnView  `json:"params"`
	KeyState    bool          `json:"key_state"`
	WindowState bool          `json:"window_state"`
	Schema      uint32        `json:"state_schema,omitempty"`
}

type pairView struct {
	Left    []columnView `json:"left"`
	Right   []columnView `json:"right"`
	Outputs []columnView `json:"outputs"`
	Params  []columnView `json:"params"`
}

type generatorView struct {
	Inputs []columnView `json:"inputs"`
	Params []columnView `json:"params"`
	Schema uint32       `json:"state_schema,omitempty"`
}

type mapView struct {
	Inputs  []columnView `json:"inputs"`
	Outputs []columnView `json:"outputs"`
	Params  []columnView `json:"params"`
}

type triggerView struct {
	Inputs   []columnView `json:"inputs"`
	Params   []columnView `json:"params"`
	Schema   uint32       `json:"state_schema,omitempty"`
	MayPurge bool         `json:"may_purge"`
	Merges   bool         `json:"merges"`
}

type sideView struct {
	Name    string       `json:"name"`
	Outputs []columnView `json:"outputs"`
}

type columnView struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Nullable bool   `json:"nullable,omitempty"`
	Required bool   `json:"required,omitempty"`
	Default  any    `json:"default,omitempty"`
}

type linkView struct {
	Module string `json:"module,omitempty"`
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Type   string `json:"type,omitempty"`
}

type memoryView struct {
	MinPages uint64  `json:"min_pages"`
	MaxPages *uint64 `json:"max_pages,omitempty"`
}

type sectionView struct {
	Name   string `json:"name"`
	Custom bool   `json:"custom,omitempty"`
	Size   int64  `json:"size"`
}

func viewModule(m *binary.Module) *moduleView {
	v := &moduleView{
		Digest: m.Digest, Size: m.Size, Plugin: true,
		Exports: []linkView{}, Imports: []linkView{}, Memory: []memoryView{}, Sections: []sectionView{},
		Functions: m.Functions, CodeBytes: m.CodeBytes, DataBytes: m.DataBytes, LargestFun: m.LargestCode,
	}
	if err := binary.Check(m); err != nil {
		v.Plugin, v.Problems = false, strings.Split(err.Error(), "\n")
	}
	if len(m.Marker) >= 4 {
		version := bin.LittleEndian.Uint32(m.Marker)
		v.ABI = &version
	}
	if manifest, err := m.Manifest(); err == nil {
		v.Name, v.Version, v.SDK = manifest.Name, manifest.Version, manifest.SDK
		v.Upgrades = viewUpgrades(manifest.Upgrades())
		v.Aggregate, v.Process, v.Assigner = viewAggregate(manifest.Aggregate), viewProcess(manifest.Process), viewAssigner(manifest.Assigner)
		if p := manifest.Pair; p != nil {
			v.Pair = &pairView{viewColumns(p.Left), viewColumns(p.Right), viewColumns(p.Outputs), viewParams(p.Params)}
		}
		if f := manifest.Map; f != nil {
			v.Map = &mapView{viewColumns(f.Inputs), viewColumns(f.Outputs), viewParams(f.Params)}
		}
		if g := manifest.Generator; g != nil {
			v.Watermark = &generatorView{viewColumns(g.Inputs), viewParams(g.Params), g.Schema}
		}
		if t := manifest.Trigger; t != nil {
			v.Trigger = &triggerView{viewColumns(t.Inputs), viewParams(t.Params), t.Schema, t.MayPurge, t.Merges}
		}
	}
	for _, e := range m.Exports {
		l := linkView{Name: e.Name, Kind: e.Kind.String()}
		if e.Kind == binary.Func {
			l.Type = e.Type.String()
		}
		v.Exports = append(v.Exports, l)
	}
	for _, i := range m.Imports {
		l := linkView{Module: i.Module, Name: i.Name, Kind: i.Kind.String()}
		if i.Kind == binary.Func {
			l.Type = i.Type.String()
		}
		v.Imports = append(v.Imports, l)
	}
	for _, l := range m.Memories {
		mv := memoryView{MinPages: l.Min}
		if l.HasMax {
			mv.MaxPages = &l.Max
		}
		v.Memory = append(v.Memory, mv)
	}
	for _, s := range m.Sections {
		v.Sections = append(v.Sections, sectionView{s.Name, s.Custom, s.Size})
	}
	return v
}

func viewAggregate(a *abi.Aggregate) *aggregateView {
	if a == nil {
		return nil
	}
	return &aggregateView{
		Inputs: viewColumns(a.Inputs), Outputs: viewColumns(a.Outputs), Params: viewParams(a.Params),
		Width: a.Width, Schema: a.Schema, OrderInsensitive: a.OrderInsensitive, Exact: a.Exact,
	}
}

func viewProcess(p *abi.Process) *processView {
	if p == nil {
		return nil
	}
	v := &processView{Inputs: viewColumns(p.Inputs), Outputs: viewColumns(p.Outputs), Side: []sideView{}, Params: viewParams(p.Params),
		KeyState: p.KeyState, WindowState: p.WindowState, Schema: p.Schema}
	lists := []**[]columnView{&v.Records}
	if len(p.Lists) == 2 {
		lists = []**[]columnView{&v.Left, &v.Right}
	}
	for i, l := range p.Lists {
		list := viewColumns(l)
		*lists[i] = &list
	}
	for _, s := range p.Side {
		v.Side = append(v.Side, sideView{s.Name, viewColumns(s.Outputs)})
	}
	return v
}

func viewColumns(columns []abi.Column) []columnView {
	out := []columnView{}
	for _, c := range columns {
		out = append(out, columnView{Name: c.Name, Type: c.Kind.String(), Nullable: c.Nullable})
	}
	return out
}

func viewParams(params []abi.Param) []columnView {
	out := []columnView{}
	for _, p := range params {
		c := columnView{Name: p.Name, Type: p.Kind.String(), Required: p.Required}
		if p.HasDefault {
			switch p.Kind {
			case abi.Int64:
				c.Default = p.Default.Int
			case abi.Float64:
				c.Default = p.Default.Float
			case abi.Bool:
				c.Default = p.Default.Bool
			case abi.String:
				c.Default = p.Default.Str
			}
		}
		out = append(out, c)
	}
	return out
}

// String writes a column as "name type", with what is special about it.
func (c columnView) String() string {
	s := c.Name + " " + c.Type
	switch {
	case c.Nullable:
		s += " (nullable)"
	case c.Required:
		s += " (required)"
	case c.Default != nil:
		text, isText := c.Default.(string)
		if isText {
			s += " = " + strconv.Quote(text)
		} else {
			s += fmt.Sprintf(" = %v", c.Default)
		}
	}
	return s
}

func (v *moduleView) show(w io.Writer) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	verdict := "yes"
	if !v.Plugin {
		verdict = "no, a host would refuse it: " + count(int64(len(v.Problems)), "problem")
	}
	line("plug-in", "%s", verdict)
	for _, p := range v.Problems {
		line("", "- %s", p)
	}
	if v.Name != "" {
		line("name", "%s %s", v.Name, v.Version)
	}
	line("digest", "sha256:%s", v.Digest)
	line("size", "%s bytes: code %s in %s (largest %s), data %s", thousands(v.Size),
		thousands(v.CodeBytes), count(int64(v.Functions), "function"), thousands(v.LargestFun), thousands(v.DataBytes))
	if v.Shape != nil {
		v.Shape.show(line)
	}
	if v.ABI != nil {
		line("ABI", "version %d", *v.ABI)
	}
	if v.SDK != "" {
		line("SDK", "%s", v.SDK)
	}
	list := func(name string, cols []columnView) {
		for i, c := range cols {
			if i > 0 {
				name = ""
			}
			line(name, "%s", c)
		}
	}
	if p := v.Process; p != nil {
		p.show(line, list)
	}
	if p := v.Pair; p != nil {
		list("left", p.Left)
		list("right", p.Right)
		list("outputs", p.Outputs)
		list("params", p.Params)
	}
	if a := v.Assigner; a != nil {
		a.show(line, list)
	}
	if f := v.Map; f != nil {
		line("map", "of single records")
		list("inputs", f.Inputs)
		list("outputs", f.Outputs)
		list("params", f.Params)
	}
	if g := v.Watermark; g != nil {
		line("watermarks", "%s", map[bool]string{true: fmt.Sprintf("with state of each split, schema %d", g.Schema), false: "without state"}[g.Schema > 0])
		list("inputs", g.Inputs)
		list("params", g.Params)
	}
	if t := v.Trigger; t != nil {
		line("fires", "%s", map[bool]string{true: fmt.Sprintf("with state of each window, schema %d", t.Schema), false: "without state"}[t.Schema > 0])
		line("purges", "%s", map[bool]string{true: "perhaps: windows do not share their parts", false: "never"}[t.MayPurge])
		line("sessions", "%s", map[bool]string{true: "merge", false: "no: it cannot merge"}[t.Merges])
		list("inputs", t.Inputs)
		list("params", t.Params)
	}
	if a := v.Aggregate; a != nil {
		list("inputs", a.Inputs)
		list("outputs", a.Outputs)
		list("params", a.Params)
		size := fmt.Sprintf("%d bytes", a.Width)
		if a.Width == 0 {
			size = "varies in size"
		}
		line("accumulator", "%s, schema %d", size, a.Schema)
		line("order", "%s", map[bool]string{true: "does not matter", false: "matters"}[a.OrderInsensitive])
		line("merging", "%s", map[bool]string{true: "exact", false: "not exact: up to rounding"}[a.Exact])
	}
	showUpgrades(v.Upgrades, line)
	for _, m := range v.Memory {
		most := "no maximum"
		if m.MaxPages != nil {
			most = fmt.Sprintf("at most %d", *m.MaxPages)
		}
		line("memory", "%d pages of 64 KiB, %s", m.MinPages, most)
	}
	for i, e := range v.Exports {
		line(map[bool]string{true: "exports"}[i == 0], "%s %s %s", e.Kind, e.Name, e.Type)
	}
	for i, e := range v.Imports {
		line(map[bool]string{true: "imports"}[i == 0], "%s %s.%s %s", e.Kind, e.Module, e.Name, e.Type)
	}
	for i, s := range v.Sections {
		name := s.Name
		if s.Custom {
			name = "custom " + strconv.Quote(s.Name)
		}
		line(map[bool]string{true: "sections"}[i == 0], "%s, %s bytes", name, thousands(s.Size))
	}
}

// show writes what a process function reads, gives and keeps.
func (p *processView) show(line func(name, format string, args ...any), list func(string, []columnView)) {
	list("inputs", p.Inputs)
	for _, l := range []struct {
		name string
		cols *[]columnView
	}{{"records", p.Records}, {"left", p.Left}, {"right", p.Right}} {
		switch {
		case l.cols == nil:
		case len(*l.cols) == 0:
			line(l.name, "their number and times")
		default:
			list(l.name, *l.cols)
		}
	}
	list("outputs", p.Outputs)
	for _, s := range p.Side {
		list("side "+s.Name, s.Outputs)
	}
	list("params", p.Params)
	var kept []string
	if p.KeyState {
		kept = append(kept, "of each key")
	}
	if p.WindowState {
		kept = append(kept, "of each window")
	}
	if len(kept) == 0 {
		line("state", "none")
		return
	}
	line("state", "%s, schema %d", strings.Join(kept, " and "), p.Schema)
}
