package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tidemark/host/catalog"
	"tidemark/host/config"
	"tidemark/host/tenant"
	"tidemark/internal/env"
)

// newTenantCommand makes `tidemark tenant`, which works on the data directory of a
// host: who may write there is the operator.
func newTenantCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "tenant", Short: "make tenants, on the machine of a host", Args: exactly(0, "a subcommand")}
	create := &cobra.Command{
		Use: "create NAME", Short: "make a tenant", Args: exactly(1, "the name of a tenant"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := tenant.ParseID(args[0])
			if err != nil {
				return err
			}
			return onCatalog(cmd, func(ctx context.Context, c config.Config, cat *catalog.Catalog, machine env.Env) error {
				if err := cat.CreateTenant(ctx, id, machine.Clock.Now()); err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "tenant %s made; tidemark token create %s makes a token\n", id, id)
				return nil
			})
		},
	}
	list := &cobra.Command{
		Use: "list", Short: "list the tenants", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return onCatalog(cmd, func(ctx context.Context, c config.Config, cat *catalog.Catalog, _ env.Env) error {
				ids, err := cat.Tenants(ctx)
				for _, id := range ids {
					fmt.Fprintln(cmd.OutOrStdout(), id)
				}
				return err
			})
		},
	}
	catalogFlags(create)
	catalogFlags(list)
	cmd.AddCommand(create, list)
	return cmd
}

// newTokenCommand makes `tidemark token`.
func newTokenCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "token", Short: "make tokens of tenants, on the machine of a host", Args: exactly(0, "a subcommand")}
	create := &cobra.Command{
		Use:   "create TENANT",
		Short: "make a token and print it, once",
		Long:  "Make a token of a tenant and print it. The host keeps its hash only: it cannot be shown again.",
		Args:  exactly(1, "the name of a tenant"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := tenant.ParseID(args[0])
			if err != nil {
				return err
			}
			return onCatalog(cmd, func(ctx context.Context, c config.Config, cat *catalog.Catalog, machine env.Env) error {
				text, stored, err := tenant.NewToken(machine.Rand)
				if err != nil {
					return err
				}
				if err := cat.AddToken(ctx, id, stored, c.Quota, machine.Clock.Now()); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), text)
				return nil
			})
		},
	}
	catalogFlags(create)
	cmd.AddCommand(create)
	return cmd
}

// catalogFlags adds the host's settings, of which these commands show two.
func catalogFlags(cmd *cobra.Command) {
	config.Flags(cmd.Flags())
	hideAllBut(cmd, "config", "data")
}

// onCatalog opens the catalogue of the host that the command's flags name.
func onCatalog(cmd *cobra.Command, f func(context.Context, config.Config, *catalog.Catalog, env.Env) error) (err error) {
	c, _, err := config.Load(cmd.Flags(), os.LookupEnv)
	if err != nil {
		return err
	}
	machine := env.Real()
	cat, err := catalog.Open(cmd.Context(), c.Data, machine)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := cat.Close(); err == nil {
			err = cerr
		}
	}()
	return f(cmd.Context(), c, cat, machine)
}
