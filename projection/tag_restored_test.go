package projection_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/enginetest"
	"github.com/dynajournal/dynajournal/projection/tags"
)

// backUp returns the items of a table.
func (b *bundle) backUp(table string) []map[string]types.AttributeValue {
	b.Helper()
	out, err := b.table.Scan(b.Context(), &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	if err != nil {
		b.Fatal(err)
	}
	return out.Items
}

// restore replaces a table with a new one that has some items.
func (b *bundle) restore(table string, items []map[string]types.AttributeValue) {
	b.Helper()
	enginetest.Restore(b, b.table, table, items)
}

// indexed indexes the events of a persistence id up to a number.
func (b *bundle) indexed(pid string, seq int64) {
	b.Helper()
	g, stop := b.index(b.journal, fast())
	g.Trigger(pid)
	b.await("group/tags", pid, seq)
	stop()
}

func (b *bundle) wantRestored() {
	b.Helper()
	_, err := tags.Open(b.Context(), b.journal, tagsTable)
	wantError(b, "open", err, tags.ErrRestored)
	err = tags.Create(b.Context(), b.journal, tagsTable, tags.IndexOptions{Lanes: 1})
	wantError(b, "create", err, tags.ErrRestored)
}

func (b *bundle) accept() {
	b.Helper()
	if err := tags.AcceptRestored(b.Context(), b.journal, tagsTable); err != nil {
		b.Fatal(err)
	}
}

// The table of an index is restored to an earlier time than the offsets of its projection: no
// process would add the missing entries. So it is refused. After it is accepted, old offsets are
// refused.
func TestIndexThatWasRestoredIsRefused(t *testing.T) {
	t.Parallel()
	b := tagging(t, 1)
	w := b.write("a", withTags("1", "red"))
	b.indexed("a", 1)
	index, offsets := b.backUp(tagsTable), b.backUp(projectionsTable)
	b.append(w, withTags("2", "red"))
	b.indexed("a", 2)
	_, reached := collect(t, b.openTagIndex(b.journal, tagsTable).CurrentEventsByTag(t.Context(), "red", tags.Offset{}))

	b.restore(tagsTable, index)
	b.wantRestored()

	b.restore(projectionsTable, offsets)
	b.accept()
	b.accept() // which changes nothing
	b.indexed("a", 2)
	want(t, "red", b.byTag("red"), "a 1", "a 2")
	err := failure(b.openTagIndex(b.journal, tagsTable).CurrentEventsByTag(t.Context(), "red", reached[0]))
	if _, ok := errors.AsType[*dynajournal.ArgumentError](err); !ok {
		t.Errorf("an offset of before: error %v", err)
	}
}

// The header of an index that an earlier version has made does not name the table. Create stores
// it.
func TestIndexOfAnEarlierVersionGetsTheIDOfItsTable(t *testing.T) {
	t.Parallel()
	b := tagging(t, 1)
	header := b.backUp(tagsTable)[0]
	delete(header, "table_id")
	b.restore(tagsTable, []map[string]types.AttributeValue{header})
	index := b.openTagIndex(b.journal, tagsTable)
	b.createTagIndex(tagsTable, 1)
	if _, err := index.Remove(t.Context(), "a"); err != nil { // it is the same index
		t.Error(err)
	}
	after := b.backUp(tagsTable)
	if index := after[0]["index_id"].(*types.AttributeValueMemberS).Value; index != header["index_id"].(*types.AttributeValueMemberS).Value {
		t.Errorf("the id of the index is %s", index)
	}
	b.restore(tagsTable, after)
	b.wantRestored()
}

// Each replica of a table has an id of its own, so a replicated index can be opened in every
// Region.
func TestReplicatedIndexIsOpened(t *testing.T) {
	t.Parallel()
	b := tagging(t, 1)
	b.restore(tagsTable, b.backUp(tagsTable))
	if _, err := b.table.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String(tagsTable),
		ReplicaUpdates: []types.ReplicationGroupUpdate{{
			Create: &types.CreateReplicationGroupMemberAction{RegionName: aws.String("eu-west-1")},
		}},
	}); err != nil {
		t.Fatal(err)
	}
	b.openTagIndex(b.journal, tagsTable)
	b.accept()
	b.createTagIndex(tagsTable, 1)
}

func TestAcceptingNeedsAnIndexOfTheJournal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wantError(t, "no table", tags.AcceptRestored(t.Context(), b.journal, tagsTable), tags.ErrNoIndex)
	wantError(t, "no name", tags.AcceptRestored(t.Context(), b.journal, ""), dynajournal.ErrInvalidArgument)
}
