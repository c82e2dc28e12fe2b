package projection_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/tags"
)

const tagsTable = "tags"

// tagging makes a journal with an index of tags.
func tagging(t testing.TB, lanes int) *bundle {
	t.Helper()
	b := setup(t)
	b.createTagIndex(tagsTable, lanes)
	return b
}

func (b *bundle) createTagIndex(table string, lanes int) {
	b.Helper()
	if err := tags.Create(b.Context(), b.journal, table, tags.IndexOptions{Lanes: lanes}); err != nil {
		b.Fatal(err)
	}
}

// openTagIndex opens an index with a journal, as another process would.
func (b *bundle) openTagIndex(j *dynajournal.Journal, table string) *tags.Index {
	b.Helper()
	index, err := tags.Open(b.Context(), j, table)
	if err != nil {
		b.Fatal(err)
	}
	return index
}

// index runs a group that indexes tags, until stop is called or the test ends.
func (b *bundle) index(j *dynajournal.Journal, config projection.Config, opts ...projection.Option) (
	g *projection.Group, stop func(),
) {
	b.Helper()
	g = group(b, j, config, b.openTagIndex(j, tagsTable).Projection("tags", opts...))
	return g, start(b, g)
}

// withTags returns an event with tags.
func withTags(value string, tags ...string) dynajournal.NewEvent {
	return dynajournal.NewEvent{Value: value, Tags: tags}
}

// collect returns the events of a loop, each as its persistence id and number, and their offsets.
func collect(t testing.TB, events iter.Seq2[tags.Event, error]) (found []string, offsets []tags.Offset) {
	t.Helper()
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		found, offsets = append(found, fmt.Sprint(e.PersistenceID, " ", e.SequenceNumber)), append(offsets, e.Offset)
	}
	return found, offsets
}

// byTag returns the current events of a tag, sorted.
func (b *bundle) byTag(tag string) []string {
	b.Helper()
	found, _ := collect(b, b.openTagIndex(b.journal, tagsTable).CurrentEventsByTag(b.Context(), tag, tags.Offset{}))
	slices.Sort(found)
	return found
}

// failure returns the error of a loop.
func failure(events iter.Seq2[tags.Event, error]) error {
	for _, err := range events {
		if err != nil {
			return err
		}
	}
	return nil
}

// tagItems returns the stored entries of an index, by lane and number.
func (b *bundle) tagItems(table string) []map[string]types.AttributeValue {
	b.Helper()
	par := func(item map[string]types.AttributeValue) string {
		return item["par"].(*types.AttributeValueMemberS).Value
	}
	entries := slices.DeleteFunc(b.backUp(table), func(item map[string]types.AttributeValue) bool { return par(item) == "header" })
	slices.SortFunc(entries, func(x, y map[string]types.AttributeValue) int {
		if c := strings.Compare(par(x), par(y)); c != 0 {
			return c
		}
		return int(numberOf(b, x["num"]) - numberOf(b, y["num"]))
	})
	return entries
}

func (b *bundle) putItem(table string, item map[string]types.AttributeValue) {
	b.Helper()
	if _, err := b.table.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) deleteItem(table string, item map[string]types.AttributeValue) {
	b.Helper()
	key := map[string]types.AttributeValue{"par": item["par"], "num": item["num"]}
	if _, err := b.table.DeleteItem(b.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key}); err != nil {
		b.Fatal(err)
	}
}
