package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tidemark/internal/fault"
)

// newPluginPushCommand makes `tidemark plugin push`.
func newPluginPushCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "push FILE", Short: "upload a plug-in to a host", Args: exactly(1, "a module (.wasm)"),
		Long: "Upload a plug-in to a host, where jobs name it by name@version or by its digest. A module that the host cannot\n" +
			"take is refused with all that is wrong with it.",
	}
	r := shownFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := r.client()
		if err != nil {
			return err
		}
		module, err := os.ReadFile(args[0])
		if err != nil {
			return fault.As(fault.ErrUser, err)
		}
		p, err := c.PushPlugin(cmd.Context(), module)
		if errors.Is(err, fault.ErrUser) {
			return moduleError{args[0], err}
		}
		if err != nil {
			return err
		}
		return r.show(cmd.OutOrStdout(), p, func(w io.Writer) {
			fmt.Fprintf(w, "%s  %s  %s\n", p.Ref, count(p.Size, "byte"), p.Digest)
		})
	}
	return cmd
}
