package job

// windowPlugin reads
//
//	{plugin: own_gap, columns: {gap_ms: patience}, args: {…}}
//
// whose columns are fields of the records that the window takes; those of a join have them
// on both sides.
func (r *reader) windowPlugin(s *stepSpec, w *Window, o *object, in []*shape) {
	var info FunctionInfo
	known := false
	var n *node
	if w.Plugin, n = scalar(o, PluginWindow, text); n != nil {
		info, known = r.pluginAs(AssignerKind, n, o.sub(PluginWindow))
	}
	what := "plug-in " + w.Plugin
	for i, from := range in {
		noted := r.effective
		columns, _ := r.columns(o, "columns", what, "name a field of the record", info.Inputs, known, from)
		if i == 0 {
			w.Columns = columns
		} else {
			r.effective = noted
		}
	}
	w.Args = r.args(o, what, info, known)
	if info.Assigner != nil {
		w.Merges = info.Assigner.Merges
	}
}

// Merging reports whether windows of a key that touch become one (S45).
func (w *Window) Merging() bool { return w.Kind == Session || w.Merges }
