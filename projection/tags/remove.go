package tags

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Remove removes the entries of persistence ids whose events were deleted or purged, and returns
// how many it has removed. Readers skip such entries anyway: Remove erases the persistence ids
// themselves from the table. Entries of existing events stay.
//
// It scans the table, which costs 1 read unit for each 4 KB, about 50 small entries. In addition it
// costs 1 read unit for each entry of the persistence ids, and 1 write unit for each removed entry.
// So pass many persistence ids at once. Call it a minute after the last purge, because the
// projection may still have been handling events when it was purged. If Remove was interrupted,
// call it again.
//
// Errors: a *dynajournal.ArgumentError, [dynajournal.ErrCorruptItem], and errors of requests.
func (x *Index) Remove(ctx context.Context, persistenceIDs ...string) (removed int64, err error) {
	wanted := map[string]bool{}
	for _, pid := range persistenceIDs {
		if pid == "" {
			return 0, engine.Argument("persistenceIDs", pid, "it is empty")
		}
		wanted[pid] = true
	}
	if len(wanted) == 0 {
		return 0, nil
	}
	consistent := true
	in := &dynamodb.ScanInput{TableName: &x.table, ConsistentRead: &consistent}
	for {
		var page dynamo.Page
		err := x.operate(ctx, func(ctx context.Context, client *dynamo.Client) error {
			var err error
			page, err = client.Scan(ctx, &dynamo.Meter{}, in)
			return err
		})
		if err == nil {
			var some int64
			some, err = x.removeGone(ctx, page.Items, wanted)
			removed += some
		}
		if err != nil {
			return removed, fmt.Errorf("remove entries of tags: %w", err)
		}
		if in.ExclusiveStartKey = page.Next; page.Next == nil {
			return removed, nil
		}
	}
}

// removeGone removes the entries among items whose persistence id is wanted and whose event does
// not exist.
func (x *Index) removeGone(
	ctx context.Context, items []dynamo.Attributes, wanted map[string]bool,
) (removed int64, err error) {
	type found struct {
		tagEntry

		par string
	}
	var all []found
	var refs []tagRef
	for _, item := range items {
		par := engine.KeyOf(item)
		if !strings.HasPrefix(par, entryPrefix) {
			continue
		}
		e, err := x.decodeEntry(item)
		if err != nil {
			return 0, err
		}
		if wanted[e.pid] {
			all, refs = append(all, found{e, par}), append(refs, e.tagRef)
		}
	}
	for first := 0; first < len(all); first += tagPage {
		last := min(first+tagPage, len(all))
		stored, err := x.read(ctx, refs[first:last])
		if err != nil {
			return removed, err
		}
		for _, e := range all[first:last] {
			if _, exists := stored[e.tagRef]; exists {
				continue
			}
			if err := x.clearEntry(ctx, e.par, e.tagEntry); err != nil {
				return removed, err
			}
			removed++
		}
	}
	return removed, nil
}

// clearEntry removes the event from an entry. The entry keeps its number, because a reader waits
// for a missing one.
func (x *Index) clearEntry(ctx context.Context, par string, e tagEntry) error {
	err := x.operate(ctx, func(ctx context.Context, client *dynamo.Client) error {
		_, err := client.Update(ctx, &dynamo.Meter{}, dynamo.Update{
			Table: x.table, Key: tagKey(par, e.num),
			Expression: "SET " + attrGone + " = :one REMOVE " + attrPID + ", " + engine.AttrSeq + ", " + engine.AttrWriter,
			Condition:  "attribute_exists(" + engine.AttrPar + ")",
			Values:     dynamo.Attributes{":one": engine.Number(1)},
		})
		return err
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		// The entry was deleted, which this package never does.
		return &dynajournal.ItemError{Table: x.table, Par: par, Num: e.num, Attribute: attrNum, Err: err}
	}
	return err
}
