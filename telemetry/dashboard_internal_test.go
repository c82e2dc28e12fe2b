package telemetry

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// dashboardFile is a dashboard for Grafana.
const dashboardFile = "dashboard.json"

// panel is a panel of dashboardFile. In expr, {name} is the Prometheus name of the metric name.
type panel struct {
	title, unit string
	queries     []query
}

type query struct{ expr, legend string }

// rate returns the rate of a counter, or of the calls of a histogram, by a label.
func rate(metric, by string) string { return "sum by (" + by + ") (rate(" + metric + "[5m]))" }

// quantile returns a quantile of a histogram by a label.
func quantile(q, metric, by string) string {
	return "histogram_quantile(" + q + ", " + rate("{"+metric+"}_bucket", "le, "+by) + ")"
}

const (
	byType       = "dynajournal_entity_type"
	byProjection = "messaging_destination_name"
	byOperation  = "db_operation_name"
	byPurpose    = "dynajournal_purpose"
	byGroup      = "messaging_consumer_group_name"
	byPool       = "db_client_connection_pool_name"
)

// dashboard are the rows of the dashboard.
var dashboard = []struct {
	title  string
	panels []panel
}{
	{"Commands", []panel{
		{"Commands a second", "ops", []query{
			{rate("{dynajournal.entity.command.duration}_count", byType+", error_type"), "{{" + byType + "}} {{error_type}}"},
		}},
		{"Duration of a command", "s", []query{
			{quantile("0.5", commandDuration, byType), "{{" + byType + "}} p50"}, {quantile("0.99", commandDuration, byType), "{{" + byType + "}} p99"},
		}},
		{"Where commands wait (p95)", "s", []query{
			{quantile("0.95", commandQueue, byType), "turn of {{" + byType + "}}"},
			{quantile("0.95", recoveryDuration, byType), "loading of {{" + byType + "}}"},
			{quantile("0.95", recoveryWait, byType), "wait before the loading of {{" + byType + "}}"},
			{quantile("0.95", writeDuration, byType), "write of {{" + byType + "}}"},
			{quantile("0.95", connectionWait, byPool), "connection"},
		}},
	}},
	{"DynamoDB", []panel{
		{"Duration of a request (p99)", "s", []query{{quantile("0.99", operationDuration, byOperation), "{{" + byOperation + "}}"}}},
		{"Attempts a second", "ops", []query{{rate("{dynajournal.request.attempts}", byOperation+", error_type"), "{{" + byOperation + "}} {{error_type}}"}}},
		{"Units a second", "none", []query{
			{rate("{dynajournal.capacity.consumed}", byPurpose+", dynajournal_capacity_type"), "{{" + byPurpose + "}} {{dynajournal_capacity_type}}"},
		}},
		{"Connections", "none", []query{
			{"sum({db.client.connection.count})", "used"}, {"sum({db.client.connection.max})", "most"},
			{"sum({db.client.connection.pending_requests})", "waiting requests"}, {"sum({dynajournal.reads.waiting})", "waiting reads"},
		}},
	}},
	{"Journal", []panel{
		{"Operations a second", "ops", []query{
			{rate("{dynajournal.operation.duration}_count", "dynajournal_operation, error_type"), "{{dynajournal_operation}} {{error_type}}"},
		}},
		{"Duration of an operation (p99)", "s", []query{{quantile("0.99", journalDuration, "dynajournal_operation"), "{{dynajournal_operation}}"}}},
		{"Events a second", "ops", []query{
			{rate("{dynajournal.operation.events}", "dynajournal_operation, error_type"), "{{dynajournal_operation}} {{error_type}}"},
		}},
		{"Wait for group commit (p99)", "s", []query{{quantile("0.99", groupCommitWait, byPool), "{{" + byPool + "}}"}}},
	}},
	{"Entities", []panel{
		{"Entities in memory, commands that wait", "none", []query{
			{"sum by (" + byType + ") ({dynajournal.entity.entities.loaded})", "{{" + byType + "}} in memory"},
			{"sum by (" + byType + ") ({dynajournal.entity.commands.waiting})", "{{" + byType + "}} waiting"},
		}},
		{"Recoveries a second", "ops", []query{{rate("{dynajournal.entity.recovery.duration}_count", byType+", dynajournal_recovery_catch_up, error_type"), "{{" + byType + "}} catch-up {{dynajournal_recovery_catch_up}} {{error_type}}"}}},
		{"Events of a recovery (p95)", "none", []query{{quantile("0.95", recoveryEvents, byType), "{{" + byType + "}}"}}},
		{"Conflicts a second", "ops", []query{{rate("{dynajournal.entity.conflicts}", byType), "{{" + byType + "}}"}}},
		{"Snapshots a second", "ops", []query{{rate("{dynajournal.entity.snapshot.duration}_count", byType+", error_type"), "{{" + byType + "}} {{error_type}}"}}},
	}},
	{"Projections", []panel{
		{"Age of events", "s", []query{
			{quantile("0.5", eventAge, byProjection), "{{" + byProjection + "}} p50"}, {quantile("0.99", eventAge, byProjection), "{{" + byProjection + "}} p99"},
		}},
		{"Lag", "s", []query{
			{"max by (" + byProjection + ") ({dynajournal.projection.lag})", "{{" + byProjection + "}} oldest trigger"},
			{"max by (" + byProjection + ") ({dynajournal.projection.stream.lag})", "{{" + byProjection + "}} stream"},
			{"max by (" + byProjection + ") ({dynajournal.projection.debt.age})", "{{" + byProjection + "}} oldest debt"},
		}},
		{"Persistence ids by state", "none", []query{
			{"sum by (" + byProjection + ", dynajournal_state) ({dynajournal.projection.ids})", "{{" + byProjection + "}} {{dynajournal_state}}"},
		}},
		{"Events handled a second", "ops", []query{{rate("{messaging.client.consumed.messages}", byProjection+", error_type"), "{{" + byProjection + "}} {{error_type}}"}}},
		{"Duration of a handler (p99)", "s", []query{{quantile("0.99", processDuration, byProjection), "{{" + byProjection + "}}"}}},
		{"Paused, calls that do not return", "none", []query{
			{"max by (" + byProjection + ") ({dynajournal.projection.paused})", "{{" + byProjection + "}} paused"},
			{"sum by (" + byProjection + ") ({dynajournal.projection.calls.overdue})", "{{" + byProjection + "}} calls"},
		}},
		{"Shards of the stream", "none", []query{
			{"sum by (" + byGroup + ", instance) ({dynajournal.projection.shards})", "{{" + byGroup + "}} {{instance}}"},
		}},
		{"Records of the stream a second", "ops", []query{{rate("{dynajournal.stream.records}", byGroup), "{{" + byGroup + "}}"}}},
		{"Reads of the stream (p99)", "s", []query{{quantile("0.99", streamDuration, byGroup), "{{" + byGroup + "}}"}}},
		{"Changes of leases a second", "ops", []query{
			{rate("{dynajournal.projection.leases}", byGroup+", dynajournal_lease_change"), "{{" + byGroup + "}} lease {{dynajournal_lease_change}}"},
		}},
		{"Sweeps", "none", []query{
			{"max by (" + byProjection + ") ({dynajournal.projection.sweep.pending})", "{{" + byProjection + "}} pending"},
			{rate("{dynajournal.projection.sweep.ids}", byGroup), "{{" + byGroup + "}} ids a second"},
		}},
	}},
	{"Outbox", []panel{
		{"Messages a second", "ops", []query{
			{rate("{messaging.client.sent.messages}", byProjection+", dynajournal_outbox_result"), "{{" + byProjection + "}} {{dynajournal_outbox_result}}"},
		}},
		{"Duration of sending (p99)", "s", []query{{quantile("0.99", sendDuration, byProjection), "{{" + byProjection + "}}"}}},
	}},
	{"Process", []panel{
		{"Skew of the clock", "s", []query{{"{dynajournal.clock.skew}", "{{instance}}"}}},
		{"Group commit", "none", []query{{"min({dynajournal.group_commit.enabled})", "1 if writers share requests"}}},
	}},
}

// grafana returns the JSON of the dashboard.
func grafana(t *testing.T) []byte {
	t.Helper()
	type object = map[string]any
	source := object{"type": "prometheus", "uid": "${datasource}"}
	const width, height = 8, 8
	var panels []any
	id, y := 0, 0
	for _, row := range dashboard {
		id++
		panels = append(panels, object{
			"id": id, "type": "row", "title": row.title, "collapsed": false, "panels": []any{},
			"gridPos": object{"h": 1, "w": 24, "x": 0, "y": y},
		})
		y++
		for i, p := range row.panels {
			id++
			var targets []any
			for n, q := range p.queries {
				targets = append(targets, object{
					"refId": string(rune('A' + n)), "expr": withPrometheusNames(t, q.expr), "legendFormat": q.legend, "datasource": source,
				})
			}
			panels = append(panels, object{
				"id": id, "type": "timeseries", "title": p.title, "datasource": source, "targets": targets,
				"fieldConfig": object{"defaults": object{"unit": p.unit}, "overrides": []any{}},
				"gridPos":     object{"h": height, "w": width, "x": i % 3 * width, "y": y + i/3*height},
			})
		}
		y += (len(row.panels) + 2) / 3 * height
	}
	out, err := json.MarshalIndent(object{
		"title": "dynajournal", "uid": "dynajournal", "schemaVersion": 39, "editable": true, "panels": panels,
		"time": object{"from": "now-6h", "to": "now"}, "refresh": "30s", "timezone": "browser",
		"templating": object{"list": []any{object{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}}},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

func TestDashboard_FileIsTheTable(t *testing.T) {
	want := grafana(t)
	if *update {
		if err := os.WriteFile(dashboardFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if file, err := os.ReadFile(dashboardFile); err != nil || string(file) != string(want) {
		t.Errorf("%s (%v) is not the table: run this test with -update", dashboardFile, err)
	}
}

// Each metric is in a panel or in an alert.
func TestDashboard_ShowsEachMetric(t *testing.T) {
	var shown strings.Builder
	for _, row := range dashboard {
		for _, p := range row.panels {
			for _, q := range p.queries {
				shown.WriteString(q.expr + "\n")
			}
		}
	}
	for i := range alerts {
		shown.WriteString(alerts[i].expr + "\n")
	}
	// These are for questions that come up rarely.
	rare := map[string]bool{
		groupCommitSize: true, holes: true, losses: true, commandAttempts: true, writeCommands: true, drops: true,
		numbersSealed: true, gaps: true, purges: true, claims: true, sweeps: true, sweepEvents: true,
	}
	for _, m := range Metrics {
		if !strings.Contains(shown.String(), "{"+m.Name+"}") && !rare[m.Name] {
			t.Errorf("%s is in no panel and no alert", m.Name)
		}
	}
}
