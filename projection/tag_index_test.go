package projection_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/tags"
)

func TestEventsAreFoundByTheirTags(t *testing.T) {
	t.Parallel()
	b := tagging(t, 3)
	long := strings.Repeat("long", 250)
	b.write("a", withTags("x", "red"), withTags("y", "blue", "red"), "z", withTags("u", long))
	for i := range 120 { // more than a page
		b.write(fmt.Sprint("id", i), withTags("x", "red"), withTags("y", "red"))
	}
	b.index(b.journal, fast())
	b.await("group/tags", "a", 4)
	for i := range 120 {
		b.await("group/tags", fmt.Sprint("id", i), 2)
	}
	index := b.openTagIndex(b.Journal(), tagsTable)
	found, offsets := collect(t, index.CurrentEventsByTag(t.Context(), "red", tags.Offset{}))
	if len(found) != 242 {
		t.Errorf("red: %d events", len(found))
	}
	for i := range 120 {
		pid := fmt.Sprint("id", i)
		if first, second := slices.Index(found, pid+" 1"), slices.Index(found, pid+" 2"); first < 0 || second < first {
			t.Errorf("%s: its events are the %d. and %d.", pid, first, second)
		}
	}
	want(t, "blue", b.byTag("blue"), "a 2")
	want(t, "a long tag", b.byTag(long), "a 4")
	want(t, "no tag of an event", b.byTag("green"))
	for i, offset := range offsets { // from any offset, also after it was stored
		stored, err := tags.ParseOffset(offset.String())
		if err != nil || stored != offset {
			t.Fatalf("offset %v: %v, %v", offset, stored, err)
		}
		rest, _ := collect(t, index.CurrentEventsByTag(t.Context(), "red", stored))
		want(t, "after "+found[i], rest, found[i+1:]...)
	}
}

func TestOnlyTheNamedTagsAreIndexed(t *testing.T) {
	t.Parallel()
	b := tagging(t, 1)
	b.write("a", withTags("x", "red", "blue"), withTags("y", "blue"))
	b.index(b.journal, fast(), projection.OnlyTags("red"))
	b.await("group/tags", "a", 2)
	want(t, "red", b.byTag("red"), "a 1")
	want(t, "blue", b.byTag("blue"))
}

// An index is rebuilt in another table while the old one is used.
func TestTagIndex_RebuiltInOtherTable(t *testing.T) {
	t.Parallel()
	b := tagging(t, 2)
	for i := range 20 {
		b.write(fmt.Sprint("id", i), withTags("x", "red"), withTags("y", "blue"))
	}
	_, stop := b.index(b.journal, fast())
	for i := range 20 {
		b.await("group/tags", fmt.Sprint("id", i), 2)
	}
	stop()
	b.createTagIndex("tags2", 5)
	both := []projection.Projection{
		b.openTagIndex(b.journal, tagsTable).Projection("tags"), b.openTagIndex(b.journal, "tags2").Projection("tags2"),
	}
	b.write("id0", withTags("z", "red"))
	start(t, group(t, b.journal, fast(), both...))
	for i := range 20 {
		b.await("group/tags2", fmt.Sprint("id", i), 2)
	}
	b.await("group/tags", "id0", 3)
	b.await("group/tags2", "id0", 3)
	for _, tag := range []string{"red", "blue"} {
		found, offsets := collect(t, b.openTagIndex(b.journal, "tags2").CurrentEventsByTag(t.Context(), tag, tags.Offset{}))
		slices.Sort(found)
		want(t, tag, found, b.byTag(tag)...)
		err := failure(b.openTagIndex(b.journal, tagsTable).CurrentEventsByTag(t.Context(), tag, offsets[0]))
		wantError(t, "an offset of the other index", err, dynajournal.ErrInvalidArgument)
	}
}

func TestPurgedEventsAreNotFound(t *testing.T) {
	t.Parallel()
	b := tagging(t, 1)
	b.write("a", withTags("x", "red"), withTags("y", "red"))
	b.write("b", withTags("z", "red"))
	_, stop := b.index(b.journal, fast())
	b.await("group/tags", "a", 2)
	b.await("group/tags", "b", 1)
	stop()
	if _, err := b.write("a").Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
		t.Fatal(err)
	}
	want(t, "purged", b.byTag("red"), "b 1")
	b.write("a", withTags("u", "red"), "v", withTags("w", "red"))
	want(t, "before the next life is indexed", b.byTag("red"), "b 1")
	b.index(b.journal, fast())
	b.await("group/tags", "a", 3)
	want(t, "the next life", b.byTag("red"), "a 1", "a 3", "b 1")

	index := b.openTagIndex(b.journal, tagsTable)
	if removed, err := index.Remove(t.Context(), "a", "none"); removed != 2 || err != nil {
		t.Errorf("Remove: %d, %v", removed, err)
	}
	if removed, err := index.Remove(t.Context(), "a"); removed != 0 || err != nil {
		t.Errorf("Remove again: %d, %v", removed, err)
	}
	want(t, "after the removal", b.byTag("red"), "a 1", "a 3", "b 1")
	gone := 0
	for _, item := range b.tagItems(tagsTable) {
		if _, ok := item["pid"]; !ok {
			gone++
		}
	}
	if gone != 2 {
		t.Errorf("%d entries are removed", gone)
	}
}

// A reader continues after a persistence id was purged. It finds the events of the next life.
func TestReaderSeesTheNextLife(t *testing.T) {
	t.Parallel()
	b := tagging(t, 1)
	b.write("a", withTags("x", "red"), withTags("y", "red"))
	g, _ := b.index(b.journal, fast())
	b.await("group/tags", "a", 2)
	var found []string
	poll := dynajournal.Poll{Shortest: time.Millisecond, Longest: time.Millisecond}
	for e, err := range b.openTagIndex(b.Journal(), tagsTable).EventsByTag(t.Context(), "red", tags.Offset{}, poll) {
		if err != nil {
			t.Fatal(err)
		}
		payload, err := e.Payload(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, payload.(string))
		if len(found) == 2 {
			if _, err := b.write("a").Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
				t.Fatal(err)
			}
			b.write("a", withTags("u", "red"))
			g.Trigger("a")
		}
		if len(found) == 3 {
			break
		}
	}
	want(t, "both lives", found, "x", "y", "u")
}

// While the index can't be written, its events wait.
func TestOutageOfAnIndexMakesNothingStuck(t *testing.T) {
	t.Parallel()
	testsize.NeedsLong(t, "TestTableThrottledForMinutes does the same without a tag index")
	synctest.Test(t, func(t *testing.T) {
		b := tagging(t, 1)
		b.write("a", withTags("x", "red"), withTags("y", "red"))
		j := b.Journal()
		index := b.openTagIndex(j, tagsTable)
		remove, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectThroughputExceeded, Table: tagsTable})
		if err != nil {
			t.Fatal(err)
		}
		config := fast()
		config.Attempts, config.RetryLongest = 1, 30*time.Second
		start(t, group(t, j, config, index.Projection("tags")))
		time.Sleep(10 * time.Minute)
		for stuck, err := range operator.New(b.journal, "").Stuck(t.Context()) {
			t.Errorf("stuck: %v, %v", stuck, err)
		}
		remove()
		b.await("group/tags", "a", 2)
		want(t, "red", b.byTag("red"), "a 1", "a 2")
	})
}

// Several processes create the table when they start, and it is described late.
func TestCreateTagIndex_ByThreeProcesses(t *testing.T) {
	t.Parallel()
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			b := setup(t)
			remove, err := b.Engine.Inject(embedded.Fault{
				Effect: embedded.EffectStaleDescription, Table: tagsTable, Delay: 3 * time.Second, Probability: 0.5,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer remove()
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					if err := tags.Create(t.Context(), b.journal, tagsTable, tags.IndexOptions{}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		})
	}
}

func TestTableOfSomethingElseIsNoIndex(t *testing.T) {
	t.Parallel()
	b := tagging(t, 3)
	_, err := b.table.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("other"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		t.Fatal(err)
	}
	create := func(j *dynajournal.Journal, table string, opts tags.IndexOptions) error {
		return tags.Create(t.Context(), j, table, opts)
	}
	lanes := func(n int) tags.IndexOptions { return tags.IndexOptions{Lanes: n} }
	invalid := dynajournal.ErrInvalidArgument
	wantError(t, "the same again", create(b.journal, tagsTable, lanes(3)), nil)
	wantError(t, "other lanes", create(b.journal, tagsTable, lanes(2)), dynajournal.ErrHeaderMismatch)
	wantError(t, "another key", create(b.journal, "other", lanes(3)), dynajournal.ErrTableSchema)
	wantError(t, "too many lanes", create(b.journal, "new", lanes(65)), invalid)
	wantError(t, "negative lanes", create(b.journal, "new", lanes(-1)), invalid)
	wantError(t, "read units alone", create(b.journal, "new", tags.IndexOptions{ReadUnits: 1}), invalid)
	wantError(t, "an ARN", create(b.journal, "arn:aws:dynamodb:us-east-1:1:table/new", lanes(1)), invalid)
	wantError(t, "no name", create(b.journal, "", lanes(1)), invalid)
	wantError(t, "no journal", create(nil, "new", lanes(1)), invalid)
	wantError(t, "the journal's table", create(b.journal, dynajournal.DefaultJournalTable, lanes(1)), invalid)
	wantError(t, "the projections table", create(b.journal, projectionsTable, lanes(1)), invalid)

	wantError(t, "with capacity", create(b.journal, "units", tags.IndexOptions{ReadUnits: 7, WriteUnits: 3}), nil)
	described, err := b.table.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("units")})
	if err != nil {
		t.Fatal(err)
	}
	if units := described.Table.ProvisionedThroughput; *units.ReadCapacityUnits != 7 || *units.WriteCapacityUnits != 3 {
		t.Errorf("the capacity is %+v", units)
	}

	open := func(table string) error {
		_, err := tags.Open(t.Context(), b.journal, table)
		return err
	}
	wantError(t, "no table", open("none"), tags.ErrNoIndex)
	header := map[string]types.AttributeValue{
		"par": &types.AttributeValueMemberS{Value: "header"}, "num": &types.AttributeValueMemberN{Value: "0"},
	}
	b.deleteItem(tagsTable, header)
	wantError(t, "no header", open(tagsTable), tags.ErrNoIndex)
	b.putItem(tagsTable, header)
	wantError(t, "a damaged header", open(tagsTable), dynajournal.ErrCorruptItem)
	header["version"], header["lanes"] = &types.AttributeValueMemberN{Value: "1"}, &types.AttributeValueMemberN{Value: "1"}
	header["journal"], header["index_id"] = &types.AttributeValueMemberS{Value: "x"}, &types.AttributeValueMemberS{Value: "01234567"}
	b.putItem(tagsTable, header)
	wantError(t, "another journal", open(tagsTable), dynajournal.ErrHeaderMismatch)
	header["lanes"] = &types.AttributeValueMemberN{Value: "99999999999999999999999999999999"}
	b.putItem(tagsTable, header)
	if err := open(tagsTable); !errors.Is(err, dynajournal.ErrCorruptItem) {
		t.Errorf("too many lanes: %v", err)
	}
}

// A journal that is shared with a JVM has tags if it is configured to store them.
func TestTagsOfASharedJournalAreIndexed(t *testing.T) {
	t.Parallel()
	s := setupShared(t)
	s.Config.EventMetadata = dynajournal.EventMetadataOn
	s.journal = s.Journal()
	s.createTagIndex(tagsTable, 2)
	s.put("a", 1, "jvm")
	s.write("a", withTags("x", "red"), "y", withTags("z", "red"))
	s.index(s.journal, fast())
	s.await("group/tags", "a", 4)
	want(t, "red", s.byTag("red"), "a 2", "a 4")
}
