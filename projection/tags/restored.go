package tags

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/provision"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// The offsets of an index's projection are in another table. If the table of the index alone is
// restored from a backup, it lacks entries that the projection does not write again, and numbers of
// a lane name other events than before. So the header has the id of its table: a restored table is
// a new table with another id.

// checkTable returns ErrRestored if the index was made in another table than the one with the given
// id, in which it is. An unknown id counts as the same table.
func (h *tagHeader) checkTable(id string) error {
	if h.tableID == "" || id == "" || id == h.tableID {
		return nil
	}
	return fmt.Errorf("%w: the index was made in the table with id %s, and this table has id %s",
		ErrRestored, h.tableID, id)
}

// storeTableID stores the id of the table in a header that an earlier version has written.
func (h *tagHeader) storeTableID(ctx context.Context, client *dynamo.Client, table, id string) error {
	if h.tableID != "" || id == "" {
		return nil
	}
	return h.update(ctx, client, table, dynamo.Update{
		Expression: "SET " + attrTableID + " = :id",
		Condition:  attrIndexID + " = :index AND attribute_not_exists(" + attrTableID + ")",
		Values:     dynamo.Attributes{":id": engine.Text(id), ":index": engine.Text(h.id)},
	})
}

// update changes a header under a condition. It returns nil if another process has changed the
// header.
func (h *tagHeader) update(ctx context.Context, client *dynamo.Client, table string, u dynamo.Update) error {
	u.Table, u.Key = table, tagHeaderKey()
	_, err := client.Update(ctx, &dynamo.Meter{}, u)
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return nil
	}
	return err
}

// AcceptRestored accepts an index whose table was restored from a backup, or copied to another
// table, so that [Open] opens it. Readers start again: older offsets are refused, because their
// positions in the index may now be of other events.
//
// Accept an index only if the projections table was restored to the same time or an earlier one.
// Then the projection adds the missing entries. Otherwise events stay missing: build the index
// again in another table, with [Create].
//
// Processes that have the index open must open it again. If the header already has the id of the
// table, nothing changes. The call may be repeated. It costs 1 read unit and 1 write unit.
//
// Errors: a *dynajournal.ArgumentError, [ErrNoIndex], [dynajournal.ErrHeaderMismatch] (the index is
// of another journal), [dynajournal.ErrCorruptItem], and errors of requests.
func AcceptRestored(ctx context.Context, journal *dynajournal.Journal, table string) error {
	if err := checkTagIndex(journal, table); err != nil {
		return err
	}
	err := core.Of(journal).Requests(ctx, dynamo.ForTags, func(ctx context.Context, client *dynamo.Client) error {
		header, err := headerOf(ctx, client, journal, table)
		if err != nil {
			return err
		}
		id, err := provision.TableID(ctx, client, table)
		if err != nil || id == "" || id == header.tableID {
			return err
		}
		return header.update(ctx, client, table, dynamo.Update{
			Expression: "SET " + attrTableID + " = :id, " + attrIndexID + " = :new",
			Condition:  attrIndexID + " = :index",
			Values:     dynamo.Attributes{":id": engine.Text(id), ":new": engine.Text(newIndexID()), ":index": engine.Text(header.id)},
		})
	})
	if err != nil {
		return fmt.Errorf("accept index of tags %q: %w", table, err)
	}
	return nil
}

// newIndexID returns the id of a new index.
func newIndexID() string { return uuid.NewString()[:indexIDLength] }
