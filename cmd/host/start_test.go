package main

import (
	"testing"
	"time"

	"tidemark/engine/job"
)

func TestStepsAreDescribedInOneLine(t *testing.T) {
	count := []job.Aggregate{{Name: "n", Function: "count"}}
	tumbling := &job.Window{Kind: job.Tumbling, Time: job.EventTime, Size: 10 * time.Second}
	global := &job.Window{Kind: job.Global, Time: job.EventTime}
	orders := []string{"orders"}
	both := []string{"orders", "payments"}
	rows := []struct {
		name string
		step job.Step
		want string
	}{
		{"a window", job.Step{From: orders, Key: []string{"shop", "day"}, Window: tumbling, AllowedLateness: time.Minute, Aggregates: count},
			"orders by shop, day, tumbling 10s, allowed lateness 1m: n (count)"},
		{"by the clock", job.Step{From: orders, Window: &job.Window{Kind: job.Sliding, Time: job.ProcessingTime, Size: time.Hour, Slide: time.Second, Offset: -time.Millisecond}, Aggregates: count},
			"orders over all keys, sliding 1h every 1s offset -1ms by the clock: n (count)"},
		{"a session with an early firing", job.Step{From: orders, Window: &job.Window{Kind: job.Session, Time: job.EventTime, Gap: 30 * time.Minute},
			Trigger: &job.Trigger{Kind: job.TriggerCountOrTimeout, Time: job.EventTime, N: 1000, After: 5 * time.Second, Purge: true}, Aggregates: count},
			"orders over all keys, session gap 30m, fires at 1,000 records, 5s of event time after the first, and at the window's end, and empties it, allowed lateness 0s: n (count)"},
		{"a gap in the record", job.Step{From: orders, Window: &job.Window{Kind: job.Session, Time: job.EventTime, GapField: "gap_ms"}, Aggregates: count},
			"orders over all keys, session gap gap_ms, allowed lateness 0s: n (count)"},
		{"days", job.Step{From: orders, Window: &job.Window{Kind: job.Day, Time: job.EventTime, Zone: "Asia/Shanghai"}, Aggregates: count},
			"orders over all keys, day in Asia/Shanghai, allowed lateness 0s: n (count)"},
		{"counts", job.Step{From: orders, Window: &job.Window{Kind: job.Count, Time: job.EventTime, Records: 100, Every: 10}, Aggregates: count, OnError: job.DeadLetter},
			"orders over all keys, count of 100 every 10: n (count); records that a function refuses go aside"},
		{"an evictor", job.Step{From: orders, Window: global, Trigger: &job.Trigger{Kind: job.TriggerDelta, Field: "price", Threshold: 3, Abs: true},
			Evictor: &job.Evictor{Kind: job.EvictTime, Keep: 5 * time.Second, After: true}, Aggregates: count},
			"orders over all keys, global window, fires when the change of price, up or down, passes 3, keeps the last 5s once it has fired: n (count)"},
		{"windows of a plug-in", job.Step{From: orders, Window: &job.Window{Kind: job.PluginWindow, Plugin: "own_gap", Time: job.EventTime}, Aggregates: count},
			"orders over all keys, windows of plug-in own_gap, allowed lateness 0s: n (count)"},
		{"a plug-in", job.Step{From: orders, Window: global, Trigger: &job.Trigger{Kind: job.TriggerPurging, Inner: &job.Trigger{Kind: job.TriggerPlugin, Plugin: "tally"}}, Aggregates: count},
			"orders over all keys, global window, fires as plug-in tally says, and empties it: n (count)"},
		{"a timeout", job.Step{From: orders, Window: global, Trigger: &job.Trigger{Kind: job.TriggerProcessingTimeout, After: time.Second, Reset: true,
			Inner: &job.Trigger{Kind: job.TriggerPurging, Inner: &job.Trigger{Kind: job.TriggerCount, N: 1}}}, Aggregates: count},
			"orders over all keys, global window, fires at each record, and empties it, or 1s of the clock after the last record: n (count)"},
		{"expressions", job.Step{From: both, Filter: "amount > 0.0", Derive: []job.Derived{{Name: "net", Expr: "amount * 0.9"}, {Name: "half", Expr: "amount / 2.0"}}, Project: []string{"net", "half"}},
			"orders and payments where amount > 0.0 with net = amount * 0.9, half = amount / 2.0, only net, half"},
		{"an interval join", job.Step{From: both, Key: []string{"order"}, Join: &job.Join{Kind: job.IntervalJoin, Lower: -5 * time.Second, Upper: 10 * time.Second, UpperExclusive: true}},
			"pairs of orders and payments with times [-5s, 10s) apart by order"},
		{"a join of windows", job.Step{From: both, Key: []string{"shop"}, Window: tumbling, Join: &job.Join{Kind: job.CoGroupJoin}},
			"lists of orders and payments by shop, tumbling 10s, allowed lateness 0s"},
	}
	for _, row := range rows {
		if got := stepText(&row.step); got != row.want {
			t.Errorf("%s:\ngot  %s\nwant %s", row.name, got, row.want)
		}
	}
}

func TestWatermarksAreDescribed(t *testing.T) {
	file, log := &job.FileSource{Path: "/in.jsonl"}, &job.FileSource{Path: "/in.jsonl", Follow: true}
	each, often := job.Emit{Record: true}, job.Emit{Period: 200 * time.Millisecond}
	rows := []struct {
		name string
		file *job.FileSource
		w    job.Watermark
		want string
	}{
		{"bounded", file, job.Watermark{Kind: job.BoundedWatermark, OutOfOrderness: 5 * time.Second, Emit: each}, "5s behind the latest record, after each record"},
		{"ascending", file, job.Watermark{Kind: job.AscendingWatermark, Emit: job.Emit{Every: 100}}, "at the latest record, which others do not fall behind, after every 100 records"},
		{"marker", log, job.Watermark{Kind: job.MarkerWatermark, Marker: "kind == 'wm'", MarkerForAll: true, Emit: each}, "at each record with kind == 'wm', for all splits; never idle"},
		{"delay", file, job.Watermark{Kind: job.DelayWatermark, DelayField: []string{"meta", "lag"}, Emit: each}, "meta.lag ms behind the record that says so, after each record"},
		{"a plug-in", log, job.Watermark{Kind: job.PluginWatermark, Plugin: "beats", Emit: often, IdleTimeout: 30 * time.Second}, "as plug-in beats says, every 200ms; idle after 30s"},
		{"ingestion", file, job.Watermark{Kind: job.IngestionWatermark, Emit: each}, "at the clock, after each record"},
		{"none", log, job.Watermark{Kind: job.NoWatermark}, "none: event time does not move"},
		{"followed", log, job.Watermark{Kind: job.BoundedWatermark, Emit: often, IdleTimeout: 30 * time.Second, WhenAllIdle: job.AdvanceWhenAllIdle,
			Align: &job.Align{Group: "g", MaxDrift: time.Minute, Update: time.Second}},
			"0s behind the latest record, every 200ms; idle after 30s, and with all idle time goes on with the clock; at most 1m ahead of the slowest of group g, looked at every 1s"},
	}
	for _, row := range rows {
		if got := watermarkText(&job.Source{File: row.file, Watermark: row.w}, false); got != row.want {
			t.Errorf("%s:\ngot  %s\nwant %s", row.name, got, row.want)
		}
	}
}
