package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// The forms of -o.
const (
	asTable = "table"
	asJSON  = "json"
	asYAML  = "yaml"
)

// form is the flag -o: in what form a command tells what it has to tell.
type form string

// outputFlag adds -o to a command; the first of forms is the default.
func outputFlag(cmd *cobra.Command, forms ...string) *form {
	f := new(form)
	cmd.Flags().StringVarP((*string)(f), "output", "o", forms[0], "form: "+strings.Join(forms, ", "))
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(forms, string(*f)) {
			return usagef("%s: -o must be %s, is %q", name(cmd), strings.Join(forms, " or "), string(*f))
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
	return f
}

// emit writes v as JSON or YAML; members keep the order of the struct.
func (f form) emit(w io.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	if f == asYAML {
		var doc yaml.Node // JSON is YAML, and this way the members' names are the same
		if err := yaml.Unmarshal(raw, &doc); err != nil {
			return fmt.Errorf("encode output: %w", err)
		}
		block(&doc)
		if raw, err = yaml.Marshal(&doc); err != nil {
			return fmt.Errorf("encode output: %w", err)
		}
	} else {
		raw = append(raw, '\n')
	}
	_, err = w.Write(raw)
	return err
}

// block takes away the flow style and the quotes that JSON has brought.
func block(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		block(c)
	}
}
