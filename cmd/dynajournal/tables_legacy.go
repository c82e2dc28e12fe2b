package main

import (
	"context"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

// legacyTable changes the table of a legacy layout, and prints it with the given status.
func (s *session) legacyTable(
	ctx context.Context, status string, change func(context.Context, legacy.Config) error,
) error {
	layout, err := legacy.ParseLayout(s.location.Layout)
	if err != nil {
		return err
	}
	s.location.allowLegacy = true
	return s.tables(ctx, func(config dynajournal.Config) error {
		if err := change(ctx, legacy.Config{Layout: layout, Journal: config}); err != nil {
			return err
		}
		result := bareTable(first(config.JournalTable, dynajournal.DefaultJournalTable), status)
		result.Kind = s.location.Layout
		return s.result.write(result)
	})
}
