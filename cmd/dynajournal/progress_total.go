package main

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
)

// idsProgress shows the progress of work on the persistence ids of a journal: all of them if none
// are given. For these it lists them first, on a terminal, where somebody sees the total.
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

// countIDs returns how many persistence ids a journal lists, unknownTotal if it can't be told: the
// work itself reports why.
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

// countItems returns about how many items the journal table has, unknownTotal if it can't be told.
// DynamoDB counts them every few hours.
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
