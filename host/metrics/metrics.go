// Package metrics turns what the host knows into Prometheus metrics: the one list of
// names. Jobs are asked when somebody scrapes, so nothing is counted twice and nothing
// runs between. Labels are tenant, job, operator, split and reason, never a key of the
// data: their number is bounded by what tenants may create.
package metrics

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tidemark/engine/stream"
	"tidemark/host/controller"
	"tidemark/host/turns"
)

const (
	prefix = "tidemark_"
	// maxSplits bounds the series of one source: a glob may match thousands of files.
	maxSplits = 100
	// scrapeTimeout is above the time that the controller gives a job to answer.
	scrapeTimeout = 5 * time.Second
)

// Names of labels.
const (
	tenantLabel   = "tenant"
	jobLabel      = "job"
	operatorLabel = "operator"
	splitLabel    = "split"
	reasonLabel   = "reason"
)

// series describes metrics of jobs.
type series struct{ desc *prometheus.Desc }

func name(name, help string, labels ...string) series {
	return series{prometheus.NewDesc(prefix+name, help, append([]string{tenantLabel, jobLabel}, labels...), nil)}
}

func ofTenant(name, help string) series {
	return series{prometheus.NewDesc(prefix+name, help, []string{tenantLabel}, nil)}
}

func (s series) counter(out chan<- prometheus.Metric, n int64, labels ...string) {
	out <- prometheus.MustNewConstMetric(s.desc, prometheus.CounterValue, float64(n), labels...)
}

func (s series) seconds(out chan<- prometheus.Metric, d time.Duration, labels ...string) {
	out <- prometheus.MustNewConstMetric(s.desc, prometheus.CounterValue, d.Seconds(), labels...)
}

func (s series) gauge(out chan<- prometheus.Metric, v float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, v, labels...)
}

// The list. Sums hold as in the ledger: read = passed + refused (bad, quarantined);
// passed = the step's records over all reasons.
var (
	jobState  = name("job_state", "1 for the state that the job is in.", "state")
	jobSilent = name("job_silent", "1 if the job runs and does not answer: a plug-in takes long for a batch.")

	jobCheckpoints       = name("job_checkpoints_total", "Checkpoints and savepoints, by what became of them: completed or failed.", reasonLabel)
	jobCheckpointSeconds = name("job_checkpoint_seconds", "How long the last completed one took.")
	jobCheckpointBytes   = name("job_checkpoint_bytes", "Bytes that were written for it.")
	jobCheckpointReused  = name("job_checkpoint_reused_bytes", "Bytes that it has taken over from earlier ones.")
	jobCheckpointTime    = name("job_checkpoint_time_seconds", "When it was completed, seconds since 1970: time() less this is its age.")
	jobRestarts          = name("job_restarts_total", "Runs that went on behind a failed one, or from another process.")

	sourceRead    = name("source_read_records_total", "Records read.", operatorLabel)
	sourceRefused = name("source_refused_records_total", "Records set aside by the source: bad, or quarantined for the clock.", operatorLabel, reasonLabel)
	sourcePassed  = name("source_passed_records_total", "Records passed on to steps.", operatorLabel)

	splitRead      = name("split_read_records_total", "Records read from the split.", operatorLabel, splitLabel)
	splitWatermark = name("split_watermark_seconds", "Watermark of the split, event time in seconds since 1970.", operatorLabel, splitLabel)
	splitHigh      = name("split_high_seconds", "Highest event time seen in the split, seconds since 1970.", operatorLabel, splitLabel)
	splitIdle      = name("split_idle", "1 if the split is idle and does not hold back the watermark.", operatorLabel, splitLabel)
	splitFinished  = name("split_finished", "1 if the split has been read to its end.", operatorLabel, splitLabel)

	stepRecords      = name("step_records_total", "Records that reached the step, by what became of them: filtered, failed, late, no_window or counted.", operatorLabel, reasonLabel)
	stepBehind       = name("step_behind_records_total", "Records at or behind the watermark when they came.", operatorLabel)
	stepLateAccepted = name("step_late_accepted_records_total", "Of those, the ones that a window past its end still took.", operatorLabel)
	stepPartials     = name("step_partials_total", "Sums of records that the senders of a window over all keys sent in their place.", operatorLabel)
	stepOpen         = name("step_open_records", "Counted records whose window is open.", operatorLabel)
	stepPanes        = name("step_panes", "Pairs of key and window that have state.", operatorLabel)
	stepState        = name("step_state_bytes", "Bytes that the windows and keys of the step take, about.", operatorLabel)
	stepRows         = name("step_result_rows_total", "Result rows, updates included.", operatorLabel)
	stepUpdates      = name("step_update_rows_total", "Result rows that correct an earlier one.", operatorLabel)
	stepWatermark    = name("step_watermark_seconds", "Watermark of the step, event time in seconds since 1970.", operatorLabel)

	sinkRows = name("sink_rows_total", "Rows written by the sink.", operatorLabel)

	// Of each tenant since the process started, also by jobs that are deleted.
	cpuTurns   = ofTenant("tenant_turns_total", "Turns on the CPU that the tenant's tasks were given.")
	cpuSeconds = ofTenant("tenant_turn_seconds_total", "Time for which they held them.")
	cpuFuel    = ofTenant("tenant_fuel_total", "Fuel that its plug-ins burnt: instructions, as abi/SPEC.md counts them.")
	cpuWaited  = ofTenant("tenant_turn_wait_seconds_total", "Time that its tasks, all together, waited for a turn.")

	all = []series{jobState, jobSilent, jobCheckpoints, jobCheckpointSeconds, jobCheckpointBytes, jobCheckpointReused, jobCheckpointTime, jobRestarts, sourceRead, sourceRefused, sourcePassed, splitRead, splitWatermark, splitHigh, splitIdle, splitFinished,
		stepRecords, stepBehind, stepLateAccepted, stepPartials, stepOpen, stepPanes, stepState, stepRows, stepUpdates, stepWatermark, sinkRows}

	ofTenants = []series{cpuTurns, cpuSeconds, cpuFuel, cpuWaited}
)

// Metrics is the host's registry of metrics. Safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// New makes the metrics. jobs returns all jobs that this process runs or has run, tenants
// what each tenant has had of the CPU.
func New(version, goVersion string, abiVersion int, jobs func(context.Context) []controller.View, tenants func() map[string]turns.Account) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "http_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "http_request_seconds", Help: "Time to answer; waiting for a job included.",
			Buckets: []float64{.001, .005, .02, .1, .5, 2, 10, 60},
		}, []string{"route"}),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "build_info", Help: "What runs here; always 1."}, []string{"version", "go", "abi"})
	build.WithLabelValues(version, goVersion, strconv.Itoa(abiVersion)).Set(1)
	m.registry.MustRegister(build, m.requests, m.seconds, jobCollector{jobs}, tenantCollector{tenants}, stopCollector{},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Request counts an answer.
func (m *Metrics) Request(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

// jobCollector asks all jobs at each scrape.
type jobCollector struct {
	jobs func(context.Context) []controller.View
}

var _ prometheus.Collector = jobCollector{}

// Describe sends all descriptions.
func (jobCollector) Describe(out chan<- *prometheus.Desc) {
	for _, s := range all {
		out <- s.desc
	}
}

// Collect sends the numbers of all jobs. The library passes no context.
func (c jobCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	for _, v := range c.jobs(ctx) {
		collect(out, v)
	}
}

// tenantCollector does not ask jobs, so that its numbers are those of the moment in which
// somebody scrapes.
type tenantCollector struct {
	tenants func() map[string]turns.Account
}

var _ prometheus.Collector = tenantCollector{}

// Describe sends all descriptions.
func (tenantCollector) Describe(out chan<- *prometheus.Desc) {
	for _, s := range ofTenants {
		out <- s.desc
	}
}

// Collect sends the numbers of all tenants.
func (c tenantCollector) Collect(out chan<- prometheus.Metric) {
	for tenant, a := range c.tenants() {
		cpuTurns.counter(out, a.Turns, tenant)
		cpuSeconds.seconds(out, a.Time, tenant)
		cpuFuel.counter(out, a.Fuel, tenant)
		cpuWaited.seconds(out, a.Waited, tenant)
	}
}

func collect(out chan<- prometheus.Metric, v controller.View) {
	tenant, job := string(v.Tenant), string(v.ID)
	jobState.gauge(out, 1, tenant, job, v.State)
	jobSilent.gauge(out, truth(v.Silent), tenant, job)
	c := &v.Tally
	jobCheckpoints.counter(out, c.Completed, tenant, job, "completed")
	jobCheckpoints.counter(out, c.Failed, tenant, job, "failed")
	jobRestarts.counter(out, c.Restarts, tenant, job)
	if c.Last > 0 {
		jobCheckpointSeconds.gauge(out, c.Took.Seconds(), tenant, job)
		jobCheckpointBytes.gauge(out, float64(c.Bytes), tenant, job)
		jobCheckpointReused.gauge(out, float64(c.Reused), tenant, job)
		jobCheckpointTime.gauge(out, float64(c.At.UnixMilli())/1000, tenant, job)
	}
	for _, s := range v.Report.Sources {
		sourceRead.counter(out, s.Read, tenant, job, s.ID)
		sourceRefused.counter(out, s.Bad, tenant, job, s.ID, "bad")
		sourceRefused.counter(out, s.Quarantined, tenant, job, s.ID, "quarantined")
		sourcePassed.counter(out, s.Passed, tenant, job, s.ID)
		for _, p := range s.Splits[:min(len(s.Splits), maxSplits)] {
			splitRead.counter(out, p.Read, tenant, job, s.ID, p.ID)
			eventTime(out, splitWatermark, p.Watermark, tenant, job, s.ID, p.ID)
			eventTime(out, splitHigh, p.High, tenant, job, s.ID, p.ID)
			splitIdle.gauge(out, truth(p.Idle), tenant, job, s.ID, p.ID)
			splitFinished.gauge(out, truth(p.Finished), tenant, job, s.ID, p.ID)
		}
	}
	for _, s := range v.Report.Steps {
		var filtered, failed, late, noWindow, counted, open, behind, lateAccepted, partials int64
		for _, in := range s.Inputs {
			filtered += in.Filtered
			failed += in.Failed
			late += in.Late
			noWindow += in.NoWindow
			counted += in.Counted
			open += in.Open
			behind += in.Behind
			lateAccepted += in.LateAccepted
			partials += in.Partials
		}
		stepRecords.counter(out, filtered, tenant, job, s.ID, "filtered")
		stepRecords.counter(out, failed, tenant, job, s.ID, "failed")
		stepRecords.counter(out, late, tenant, job, s.ID, "late")
		stepRecords.counter(out, noWindow, tenant, job, s.ID, "no_window")
		stepRecords.counter(out, counted, tenant, job, s.ID, "counted")
		stepOpen.gauge(out, float64(open), tenant, job, s.ID)
		stepBehind.counter(out, behind, tenant, job, s.ID)
		stepLateAccepted.counter(out, lateAccepted, tenant, job, s.ID)
		stepPartials.counter(out, partials, tenant, job, s.ID)
		stepPanes.gauge(out, float64(s.Panes), tenant, job, s.ID)
		stepState.gauge(out, float64(s.State), tenant, job, s.ID)
		stepRows.counter(out, s.Rows, tenant, job, s.ID)
		stepUpdates.counter(out, s.Updates, tenant, job, s.ID)
		eventTime(out, stepWatermark, s.Watermark, tenant, job, s.ID)
	}
	for _, s := range v.Report.Sinks {
		sinkRows.counter(out, s.Rows, tenant, job, s.ID)
	}
}

// eventTime sends a time, unless it is one of the two that stand for none.
func eventTime(out chan<- prometheus.Metric, s series, t stream.Time, labels ...string) {
	if t != stream.MinTime && t != stream.MaxTime {
		s.gauge(out, float64(t)/1000, labels...)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
