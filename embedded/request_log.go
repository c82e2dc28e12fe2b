package embedded

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// loggedTables is the maximum number of tables that are logged for a request.
const loggedTables = 10

// logRequest logs a request and its response, without keys, values and statements.
func logRequest(logger *slog.Logger, summary requestSummary, status, sent int, took time.Duration) {
	if logger == nil {
		return
	}
	attributes := []slog.Attr{slog.String("operation", operationLabel(summary.operation))}
	if len(summary.tables) > 0 {
		attributes = append(attributes, slog.String("table", strings.Join(summary.tables, ",")))
	}
	attributes = append(attributes, slog.Int("status", status))
	if summary.code != "" {
		attributes = append(attributes, slog.String("error", summary.code))
	}
	attributes = append(attributes, slog.Duration("duration", took), slog.Int("received", summary.received), slog.Int("sent", sent))
	logger.LogAttrs(context.Background(), slog.LevelInfo, "request", attributes...)
}

// operationLabel returns the name of an operation in the log and the metrics.
func operationLabel(operation string) string {
	if operation == "" {
		return "none"
	}
	return operation
}

// tablesOf returns the names of the request's tables, without duplicates. It leaves out invalid
// names, as they can have any content.
func (e *Engine) tablesOf(operation string, c *call) []string {
	var names []string
	for _, t := range operations[operation].targets(e, c) {
		name := tableName(t.table)
		if slices.Contains(names, name) || !isName(name) || len(name) > maxNameLength {
			continue
		}
		if len(names) == loggedTables {
			return append(names, "…")
		}
		names = append(names, name)
	}
	return names
}
