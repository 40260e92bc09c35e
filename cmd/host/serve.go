package main

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tidemark/host"
	"tidemark/host/api"
	"tidemark/host/config"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// newServeCommand makes `tidemark serve`.
func newServeCommand() *cobra.Command {
	var printConfig bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "run a host: plug-ins and jobs of many tenants over HTTP",
		Long: "Run a host: plug-ins and jobs of many tenants over HTTP. Nothing has to be installed: all it knows is below --data.\n" +
			"Settings come from a file (--config), from the environment (TIDEMARK_LISTEN, …) and from flags, the later ones\n" +
			"stronger; --print-config shows each with its origin. docs/serve.md tells the rest.",
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, settings, err := config.Load(cmd.Flags(), os.LookupEnv)
			if err != nil {
				return err
			}
			if printConfig {
				t := newTable("setting", "value", "origin")
				for _, s := range settings {
					t.add(s.Key, s.Value, s.Origin)
				}
				t.write(cmd.OutOrStdout(), "")
				return nil
			}
			for _, dir := range []*string{&c.Data, &c.Inputs} {
				if *dir == "" {
					continue
				}
				if *dir, err = filepath.Abs(*dir); err != nil {
					return fault.As(fault.ErrExternal, err)
				}
			}
			handler := slog.Handler(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			if c.LogFormat == "json" {
				handler = slog.NewJSONHandler(cmd.ErrOrStderr(), nil)
			}
			log := slog.New(handler)
			for _, s := range settings {
				if s.Origin != "default" {
					log.Info("setting", "key", s.Key, "value", s.Value, "origin", s.Origin)
				}
			}
			v := versionOf()
			return host.Serve(cmd.Context(), host.Options{
				Config: c, Version: api.Version{Version: v.Version, Commit: v.Commit, Go: v.Go, ABI: v.ABI}, Machine: env.Real(), Log: log, Compile: compileElsewhere,
				Listening: func(a net.Addr) { log.Info("listening", "address", a.String(), "data", c.Data, "inputs", c.Inputs) },
			})
		},
	}
	config.Flags(cmd.Flags())
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "print the settings with their origin and end")
	return cmd
}

// hideAllBut keeps a command's help to the flags that matter to it.
func hideAllBut(cmd *cobra.Command, names ...string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(names, f.Name) })
}
