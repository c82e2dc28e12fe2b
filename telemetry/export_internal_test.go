package telemetry

import "testing"

// PrometheusName is prometheusName, for tests that use the package as services do.
var PrometheusName = prometheusName

// PanelQueries returns the queries of all panels of the dashboard, by their titles and legends.
func PanelQueries(t *testing.T) map[string]string {
	t.Helper()
	queries := map[string]string{}
	for _, row := range dashboard {
		for _, p := range row.panels {
			for _, q := range p.queries {
				queries[p.title+": "+q.legend] = withPrometheusNames(t, q.expr)
			}
		}
	}
	return queries
}
