package job

// triggerPlugin reads
//
//	{plugin: late_or_full, columns: {value: amount}, args: {…}}
//
// whose columns are fields of the records that the window takes. It returns whether the
// plug-in is known.
func (r *reader) triggerPlugin(s *stepSpec, o *object, t *Trigger, in []*shape) bool {
	var info FunctionInfo
	known := false
	var n *node
	if t.Plugin, n = scalar(o, TriggerPlugin, text); n != nil {
		info, known = r.pluginAs(TriggerKind, n, o.sub(TriggerPlugin))
	}
	what := "plug-in " + t.Plugin
	if s.Join != nil && known && len(info.Inputs) > 0 {
		r.report(o.at, "%s: %s reads fields of all records, and the two sides of a join have fields of their own", o.path, what)
		known = false
	}
	t.Columns, _ = r.columns(o, "columns", what, "name a field of the record", info.Inputs, known, in[0])
	t.Args = r.args(o, what, info, known)
	if info.Trigger != nil {
		t.MayPurge, t.Merges = info.Trigger.MayPurge, info.Trigger.Merges
	}
	return known
}
