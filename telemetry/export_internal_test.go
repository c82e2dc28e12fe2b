package telemetry

// PrometheusName is prometheusName, for the tests of the package's users.
var PrometheusName = prometheusName
