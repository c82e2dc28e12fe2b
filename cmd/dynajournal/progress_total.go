package main

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
)

// idsProgress shows the progress of work on the given number of persistence ids of a journal, or on
// all of them if given is 0. To know the total, it lists all ids first, but only on a terminal,
// where somebody sees it.
func (s *session) idsProgress(ctx context.Context, j *dynajournal.Journal, what string, given int) *progress {
	total := int64(given)
	if given == 0 {
		total = unknownTotal
		if isTerminal(s.err) {
			total = countIDs(ctx, j)
		}
	}
	return newProgressOf(s.err, what, total)
}

// countIDs returns the number of persistence ids in a journal, or unknownTotal after an error,
// which the work itself will report.
func countIDs(ctx context.Context, j *dynajournal.Journal) int64 {
	total := int64(0)
	for _, err := range j.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{}) {
		if err != nil {
			return unknownTotal
		}
		total++
	}
	return total
}

// countItems returns the approximate number of items in the journal table, or unknownTotal.
// DynamoDB counts items every few hours.
func countItems(ctx context.Context, config dynajournal.Config) int64 {
	client, err := core.Connect(&config)
	if err != nil {
		return unknownTotal
	}
	defer client.Close()
	table, err := client.DescribeTable(ctx, config.JournalTable)
	if err != nil || table.ItemCount == nil || *table.ItemCount == 0 {
		return unknownTotal
	}
	return *table.ItemCount
}
