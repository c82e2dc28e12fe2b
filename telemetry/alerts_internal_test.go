package telemetry

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write alerts.yml")

// alertsFile has the alert rules for Prometheus.
const alertsFile = "alerts.yml"

// alert is a rule of alertsFile. In expr, {name} is the Prometheus name of the metric name.
type alert struct {
	name, expr, wait, severity, summary, action string
	// fires are series at which the alert fires after wait, and rests are series at which it does
	// not. A series is a metric, its labels and the values of one minute each.
	fires, rests []series
}

type series struct{ name, labels, values string }

// steady is a value that does not change for a day.
func steady(value string) string { return value + "x1500" }

// rising is a counter that grows by a number a minute for a day.
func rising(by string) string { return "0+" + by + "x1500" }

const (
	ofProjection = `messaging_destination_name="bank/balances"`
	ofGroup      = `messaging_consumer_group_name="bank"`
	ofType       = `dynajournal_entity_type="account"`
)

// alerts are the alerts to start with. The thresholds fit a service that answers people.
var alerts = []alert{
	{
		"Stuck", `sum by (messaging_destination_name) (increase({dynajournal.projection.stuck}[10m])) > 0`, "1m", "ticket",
		"A persistence id of {{ $labels.messaging_destination_name }} has become stuck.",
		"dynajournal projections stuck, remove the cause, then projections retry",
		[]series{{becameStuck, ofProjection, rising("1")}}, []series{{becameStuck, ofProjection, steady("3")}},
	},
	{
		"ProjectionLate", `max by (messaging_destination_name) ({dynajournal.projection.stream.lag}) > 600`, "5m", "ticket",
		"{{ $labels.messaging_destination_name }} reads the stream more than 10 minutes late.",
		"docs/operations.md, section A read model is late",
		[]series{{streamLag, ofProjection, steady("700")}}, []series{{streamLag, ofProjection, steady("500")}},
	},
	{
		"ProjectionVeryLate", `max by (messaging_destination_name) ({dynajournal.projection.stream.lag}) > 21600`, "5m", "page",
		"{{ $labels.messaging_destination_name }} reads the stream more than 6 hours late. The stream loses records after 24 hours.",
		"docs/operations.md, section A read model is late",
		[]series{{streamLag, ofProjection, steady("30000")}}, []series{{streamLag, ofProjection, steady("20000")}},
	},
	{
		"DebtOld", `max by (messaging_destination_name) ({dynajournal.projection.debt.age}) > 900`, "5m", "ticket",
		"A persistence id of {{ $labels.messaging_destination_name }} has waited for more than 15 minutes.",
		"dynajournal projections debts names the reason",
		[]series{{debtAge, ofProjection, steady("1000")}}, []series{{debtAge, ofProjection, steady("800")}},
	},
	{
		"NobodyReads", `sum by (messaging_consumer_group_name) ({dynajournal.projection.shards}) == 0`, "10m", "page",
		"No process of {{ $labels.messaging_consumer_group_name }} reads the stream. The stream loses records after 24 hours.",
		"the log has the reason: dynajournal projections lag shows the leases",
		[]series{{shardsRead, ofGroup + `,instance="a"`, steady("0")}, {shardsRead, ofGroup + `,instance="b"`, steady("0")}},
		[]series{{shardsRead, ofGroup + `,instance="a"`, steady("0")}, {shardsRead, ofGroup + `,instance="b"`, steady("4")}},
	},
	{
		"StreamErrors", `sum by (messaging_consumer_group_name, error_type) (rate({dynajournal.stream.read.duration}_count{error_type!=""}[5m])) > 0.1`, "5m", "page",
		"Reads of the stream by {{ $labels.messaging_consumer_group_name }} fail ({{ $labels.error_type }}).",
		"docs/operations.md, section A read model is late; for denied: docs/aws.md, section Permissions",
		[]series{{streamDuration + "_count", ofGroup + `,error_type="denied"`, rising("30")}},
		[]series{{streamDuration + "_count", ofGroup, rising("240")}, {streamDuration + "_count", ofGroup + `,error_type="throttled"`, rising("3")}},
	},
	{
		"DeadLetters", `sum by (messaging_destination_name) (increase({messaging.client.sent.messages}{dynajournal_outbox_result="refused"}[1h])) > 0`, "0m", "ticket",
		"The target of {{ $labels.messaging_destination_name }} has refused messages in the last hour.",
		"dynajournal projections dead-letters shows them; after the cause is removed, send them again",
		[]series{{sentMessages, ofProjection + `,dynajournal_outbox_result="refused"`, rising("1")}},
		[]series{{sentMessages, ofProjection + `,dynajournal_outbox_result="refused"`, steady("3")}, {sentMessages, ofProjection + `,dynajournal_outbox_result="failed"`, rising("1")}},
	},
	{
		"HandlerDoesNotReturn", `sum by (messaging_destination_name) ({dynajournal.projection.calls.overdue}) > 0`, "10m", "ticket",
		"A handler of {{ $labels.messaging_destination_name }} has not returned although its context has ended.",
		"the handler ignores its context: fix it, and restart the process",
		[]series{{callsOverdue, ofProjection, steady("1")}}, []series{{callsOverdue, ofProjection, steady("0")}},
	},
	{
		"Paused", `max by (messaging_destination_name) ({dynajournal.projection.paused}) == 1`, "12h", "ticket",
		"{{ $labels.messaging_destination_name }} is paused for 12 hours.",
		"dynajournal projections continue, or silence the alert",
		[]series{{projectionPaused, ofProjection, steady("1")}}, []series{{projectionPaused, ofProjection, steady("0")}},
	},
	{
		"Throttled", `sum by (db_collection_name) (rate({dynajournal.request.attempts}{error_type="throttled"}[5m]))
  / sum by (db_collection_name) (rate({dynajournal.request.attempts}[5m])) > 0.02`, "10m", "ticket",
		"DynamoDB throttles more than 2 % of the requests to {{ $labels.db_collection_name }}.",
		"docs/aws.md, section Throttling",
		[]series{
			{requestAttempts, `db_collection_name="events",error_type="throttled"`, rising("10")},
			{requestAttempts, `db_collection_name="events"`, rising("90")},
		},
		[]series{
			{requestAttempts, `db_collection_name="events",error_type="throttled"`, rising("1")},
			{requestAttempts, `db_collection_name="events"`, rising("99")},
		},
	},
	{
		"Denied", `sum by (db_operation_name) (increase({dynajournal.request.attempts}{error_type="denied",dynajournal_purpose!="ping"}[5m])) > 0`, "5m", "page",
		"A policy denies {{ $labels.db_operation_name }}.",
		"docs/aws.md, section Permissions",
		[]series{{requestAttempts, `db_operation_name="PutItem",error_type="denied",dynajournal_purpose="append"`, rising("1")}},
		[]series{{requestAttempts, `db_operation_name="GetItem",error_type="denied",dynajournal_purpose="ping"`, rising("1")}},
	},
	{
		"ConnectionsStarved", `histogram_quantile(0.95, sum by (le, db_client_connection_pool_name) (rate({db.client.connection.wait_time}_bucket[5m]))) > 0.1`, "10m", "ticket",
		"Requests wait for more than 0.1 s for a connection.",
		"raise Config.MaxConnections",
		[]series{
			{connectionWait + "_bucket", `le="0.1"`, rising("50")}, {connectionWait + "_bucket", `le="1"`, rising("100")},
			{connectionWait + "_bucket", `le="+Inf"`, rising("100")},
		},
		[]series{
			{connectionWait + "_bucket", `le="0.1"`, rising("99")}, {connectionWait + "_bucket", `le="1"`, rising("100")},
			{connectionWait + "_bucket", `le="+Inf"`, rising("100")},
		},
	},
	{
		"OutcomeUnknown", `sum by (dynajournal_entity_type) (rate({dynajournal.entity.command.duration}_count{error_type="outcome_unknown"}[5m])) > 0.1`, "5m", "page",
		"Commands of {{ $labels.dynajournal_entity_type }} end without a known outcome: DynamoDB can't be reached.",
		"clients send the command again, with the same id",
		[]series{{commandDuration + "_count", ofType + `,error_type="outcome_unknown"`, rising("60")}},
		[]series{{commandDuration + "_count", ofType + `,error_type="outcome_unknown"`, rising("3")}},
	},
	{
		"SlowCommands", `histogram_quantile(0.99, sum by (le, dynajournal_entity_type) (rate({dynajournal.entity.command.duration}_bucket[5m]))) > 1`, "10m", "page",
		"1 % of the commands of {{ $labels.dynajournal_entity_type }} take longer than 1 s.",
		"compare the durations of recoveries, writes and waits for connections",
		[]series{
			{commandDuration + "_bucket", ofType + `,le="1"`, rising("90")}, {commandDuration + "_bucket", ofType + `,le="5"`, rising("100")},
			{commandDuration + "_bucket", ofType + `,le="+Inf"`, rising("100")},
		},
		[]series{
			{commandDuration + "_bucket", ofType + `,le="1"`, rising("100")}, {commandDuration + "_bucket", ofType + `,le="5"`, rising("100")},
			{commandDuration + "_bucket", ofType + `,le="+Inf"`, rising("100")},
		},
	},
	{
		"Contention", `sum by (dynajournal_entity_type) (rate({dynajournal.entity.conflicts}[5m]))
  / sum by (dynajournal_entity_type) (rate({dynajournal.entity.command.duration}_count[5m])) > 0.2`, "15m", "ticket",
		"More than 20 % of the writes of {{ $labels.dynajournal_entity_type }} meet another writer.",
		"route the requests of one entity to one process",
		[]series{{conflicts, ofType, rising("30")}, {commandDuration + "_count", ofType, rising("100")}},
		[]series{{conflicts, ofType, rising("10")}, {commandDuration + "_count", ofType, rising("100")}},
	},
	{
		"SnapshotsFail", `sum by (dynajournal_entity_type) (increase({dynajournal.entity.snapshot.duration}_count{error_type!=""}[1h])) > 3`, "0m", "ticket",
		"Snapshots of {{ $labels.dynajournal_entity_type }} fail.",
		"the log has the errors; loading entities takes longer and longer",
		[]series{{snapshotDuration + "_count", ofType + `,error_type="throttled"`, rising("1")}},
		[]series{{snapshotDuration + "_count", ofType, rising("1")}},
	},
	{
		"Restored", `sum by (error_type) (increase({dynajournal.entity.recovery.duration}_count{error_type=~"snapshot_ahead|snapshot_missing|event_missing"}[10m])) > 0`, "0m", "page",
		"Entities can't be loaded ({{ $labels.error_type }}): a table was restored, or data is lost.",
		"stop all writers; docs/operations.md, section After a restore",
		[]series{{recoveryDuration + "_count", ofType + `,error_type="snapshot_ahead"`, rising("1")}},
		[]series{{recoveryDuration + "_count", ofType + `,error_type="throttled"`, rising("1")}},
	},
	{
		"ClockSkew", `abs({dynajournal.clock.skew}) > 60`, "5m", "ticket",
		"The clock of {{ $labels.instance }} differs by more than a minute from that of DynamoDB.",
		"correct the clock: DynamoDB refuses signatures that are 15 minutes old",
		[]series{{clockSkew, `instance="a"`, steady("-90")}}, []series{{clockSkew, `instance="a"`, steady("30")}},
	},
	{
		"GroupCommitOff", `min by (db_client_connection_pool_name) ({dynajournal.group_commit.enabled}) == 0`, "10m", "ticket",
		"Writers do not share requests.",
		"grant dynamodb:PartiQLInsert",
		[]series{{groupCommitEnabled, "", steady("0")}}, []series{{groupCommitEnabled, "", steady("1")}},
	},
}

// prometheusName returns the name that OpenTelemetry's exporter gives a metric: with underscores,
// the unit, and _total for a counter.
func prometheusName(t *testing.T, name string) string {
	t.Helper()
	base, suffix := name, ""
	for _, of := range []string{"_bucket", "_count"} {
		if cut, found := strings.CutSuffix(name, of); found {
			base, suffix = cut, of
		}
	}
	i := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == base })
	if i < 0 {
		t.Fatalf("there is no metric %s", name)
	}
	prometheus := strings.ReplaceAll(base, ".", "_")
	if Metrics[i].Unit == "s" {
		prometheus += "_seconds"
	}
	if Metrics[i].Kind == Counter {
		prometheus += "_total"
	}
	return prometheus + suffix
}

// withPrometheusNames replaces {name} in an expression by the Prometheus name of the metric name.
func withPrometheusNames(t *testing.T, expr string) string {
	t.Helper()
	return regexp.MustCompile(`\{([a-z_]+(?:\.[a-z_]+)+)\}`).ReplaceAllStringFunc(expr, func(name string) string {
		return prometheusName(t, strings.Trim(name, "{}"))
	})
}

func TestAlerts_FileIsTheTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Alert rules for Prometheus, to start with. The table in alerts_internal_test.go makes this file:\n" +
		"# go test . -run TestAlerts_FileIsTheTable -update\ngroups:\n  - name: dynajournal\n    rules:\n")
	for _, a := range alerts {
		fmt.Fprintf(&b, "      - alert: %s\n        expr: |\n", a.name)
		for line := range strings.Lines(withPrometheusNames(t, a.expr)) {
			fmt.Fprintf(&b, "          %s\n", strings.TrimRight(line, "\n"))
		}
		fmt.Fprintf(&b, "        for: %s\n        labels:\n          severity: %s\n        annotations:\n          summary: %q\n          action: %q\n",
			a.wait, a.severity, a.summary, a.action)
	}
	if *update {
		if err := os.WriteFile(alertsFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if file, err := os.ReadFile(alertsFile); err != nil || string(file) != b.String() {
		t.Errorf("%s (%v) is not the table: run this test with -update", alertsFile, err)
	}
}

// promtool judges the rules, and that each alert fires when its duration is over, and not before.
func TestAlerts_FireAndRest(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: it is in Debian's package prometheus")
	}
	rules, err := filepath.Abs(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", rules).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files:\n  - %s\nevaluation_interval: 1m\ntests:\n", rules)
	for _, a := range alerts {
		before, after := "0m", "3h"
		if a.name == "Paused" { // the only one with a long wait
			before, after = "11h", "13h"
		}
		for _, c := range []struct {
			series []series
			at     string
			fires  bool
		}{{a.fires, before, false}, {a.fires, after, true}, {a.rests, after, false}} {
			b.WriteString("  - interval: 1m\n    input_series:\n")
			for _, s := range c.series {
				fmt.Fprintf(&b, "      - series: '%s{%s}'\n        values: '%s'\n", prometheusName(t, s.name), s.labels, s.values)
			}
			fmt.Fprintf(&b, "    promql_expr_test:\n      - expr: 'count(ALERTS{alertname=\"%s\",alertstate=\"firing\"}) or vector(0)'\n"+
				"        eval_time: %s\n        exp_samples:\n          - labels: '{}'\n            value: %d\n", a.name, c.at, firing(c.fires))
		}
	}
	tests := filepath.Join(t.TempDir(), "tests.yml")
	if err := os.WriteFile(tests, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", tests).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func firing(fires bool) int {
	if fires {
		return 1
	}
	return 0
}
