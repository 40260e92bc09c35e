package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tidemark/abi"
)

// release is the version of this source tree.
const release = "0.1.0-dev"

type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"` // built from a tree with changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
	ABI      int    `json:"abi"`
}

func newVersionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "print the version (as --version does), the commit, Go's version and the version of the plug-in ABI",
		Args:  exactly(0, "no arguments"),
	}
	out := outputFlag(cmd, asTable, asJSON, asYAML)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v := versionOf()
		if *out != asTable {
			return out.emit(cmd.OutOrStdout(), v)
		}
		_, err := fmt.Fprint(cmd.OutOrStdout(), versionText(v))
		return err
	}
	return cmd
}

func versionText(v versionInfo) string {
	commit := v.Commit
	if v.Modified {
		commit += " with changes"
	}
	return fmt.Sprintf("tidemark %s\ncommit   %s\nbuilt by %s for %s\nABI      %d\n", v.Version, commit, v.Go, v.Platform, v.ABI)
}

func versionOf() versionInfo {
	v := versionInfo{Version: release, Commit: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, ABI: abi.Version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
