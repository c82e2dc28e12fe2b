package systemtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

// A table that is named by its ARN is refused wherever a configuration is used. The error says what
// to do.
func TestTableNamedByItsARNIsRefused(t *testing.T) {
	t.Parallel()
	aws := openEngine(t).AWSConfig()
	const arn = "arn:aws:dynamodb:us-east-1:123456789012:table/events"
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, dynajournal.ErrInvalidArgument) || !strings.Contains(err.Error(), "credentials of a role in its account") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, config := range []dynajournal.Config{{AWS: aws, JournalTable: arn}, {AWS: aws, SnapshotTable: arn}} {
		_, err := dynajournal.Open(t.Context(), config)
		refused("Open", err)
		refused("CreateTables", dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}))
		_, err = dynajournal.UpdateTables(t.Context(), config, dynajournal.UpdateOptions{})
		refused("UpdateTables", err)
	}
	refused("legacy", legacy.CreateTable(t.Context(), legacy.Config{Layout: legacy.HashKey, Journal: dynajournal.Config{AWS: aws, JournalTable: arn}}))
}
