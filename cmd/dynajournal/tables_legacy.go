package main

import (
	"context"
	"errors"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

// legacyTable changes the table of a legacy layout and shows it with the status that it has then.
func (s *session) legacyTable(
	ctx context.Context, status string, change func(context.Context, legacy.Config) error,
) (err error) {
	layout, err := legacy.ParseLayout(s.location.Layout)
	if err != nil {
		return err //nolint:wrapcheck // names the layout
	}
	s.location.allowLegacy = true
	c, err := s.location.open(ctx, s.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := change(ctx, legacy.Config{Layout: layout, Journal: c.config}); err != nil {
		return err
	}
	result := bareTable(first(c.config.JournalTable, dynajournal.DefaultJournalTable), status)
	result.Kind = s.location.Layout
	return s.result.write(result)
}
