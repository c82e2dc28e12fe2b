package journaltest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Table is the journal table in the layout of Akka 1.2 and later and of Pekko. Cases put it into
// states that a crash, an older plug-in or a lost item leaves.
type Table struct {
	Client *dynamodb.Client
	// Name is the name of the table. JournalName is the first part of its keys.
	Name, JournalName string
	// Shards is the number of shards of the marks.
	Shards int64
}

// block is the number of sequence numbers that share a partition key.
const block = 100

type item = map[string]types.AttributeValue

func text(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
func number(v int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(v, 10)}
}
func binary(v []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: v} }

func (t *Table) eventKey(pid string, seq int64) item {
	return item{"par": text(fmt.Sprintf("%s-P-%s-%d", t.JournalName, pid, seq/block)), "num": number(seq % block)}
}

func (t *Table) markKey(kind, pid string, seq int64) item {
	return item{"par": text(fmt.Sprintf("%s-%s-%s-%d", t.JournalName, kind, pid, seq/block%t.Shards)), "num": number(0)}
}

// The writers of planted items.
const (
	writerA = "aaaaaaaa-0000-4000-8000-000000000001"
	writerB = "bbbbbbbb-0000-4000-8000-000000000002"
)

// serializerOfBytes is the id of the serializer of byte arrays.
const serializerOfBytes = 4

// single returns the item of a single event.
func (t *Table) single(pid string, seq int64, writer string) item {
	event := t.eventKey(pid, seq)
	maps.Copy(event, item{
		"persistence_id": text(pid),
		"seq":            number(seq),
		"event":          binary(payload(seq)),
		"writer_uuid":    text(writer),
		"ev_ser_id":      number(serializerOfBytes),
	})
	return event
}

// member returns the item of a member of the atomic write first to last.
func (t *Table) member(pid string, seq int64, writer string, first, last int64) item {
	event := t.single(pid, seq, writer)
	event["idx"], event["cnt"] = number(seq-first), number(last-first)
	return event
}

// neverWhole is the idx and the cnt of seals and tombstones.
const neverWhole = 1_000_000_000

func (t *Table) seal(pid string, seq int64) item {
	closed := t.eventKey(pid, seq)
	closed["idx"], closed["cnt"] = number(neverWhole), number(neverWhole)
	return closed
}

// lowMark returns the low mark as the JVM plug-ins write it.
func (t *Table) lowMark(pid string, low int64) item {
	mark := t.markKey("SL", pid, low)
	mark["seq"] = number(low)
	return mark
}

// ownLowMark returns the low mark of a deletion by this project, which records how far the removal
// has come.
func (t *Table) ownLowMark(pid string, low, removed int64) item {
	mark := t.lowMark(pid, low)
	mark["removed"] = number(removed)
	return mark
}

// withCut adds the atomic write that the deletion cut.
func withCut(mark item, writer string, first, last int64) item {
	mark["cut_start"], mark["cut_cnt"], mark["cut_writer"] = number(first), number(last-first), text(writer)
	return mark
}

func (t *Table) highMark(pid string, seq int64) item {
	mark := t.markKey("SH", pid, seq)
	mark["seq"] = number(seq / block * block)
	return mark
}

// plant puts items into the table.
func (s *scene) plant(items ...item) {
	s.Helper()
	t := s.store.Table
	for _, it := range items {
		if _, err := t.Client.PutItem(s.Context(), &dynamodb.PutItemInput{TableName: &t.Name, Item: it}); err != nil {
			s.Fatalf("planting an item: %v", err)
		}
	}
}

// plantSingles puts single events of a writer.
func (s *scene) plantSingles(pid, writer string, numbers ...int64) {
	s.Helper()
	for _, n := range numbers {
		s.plant(s.store.Table.single(pid, n, writer))
	}
}

// plantBatch puts the members of the atomic write first to last, except those missing.
func (s *scene) plantBatch(pid, writer string, first, last int64, missing ...int64) {
	s.Helper()
	for n := first; n <= last; n++ {
		if !contains(missing, n) {
			s.plant(s.store.Table.member(pid, n, writer, first, last))
		}
	}
}

func contains(numbers []int64, n int64) bool {
	return slices.Contains(numbers, n)
}

// lose deletes items, bypassing the journal.
func (s *scene) lose(keys ...item) {
	s.Helper()
	t := s.store.Table
	for _, key := range keys {
		if _, err := t.Client.DeleteItem(s.Context(),
			&dynamodb.DeleteItemInput{TableName: &t.Name, Key: key}); err != nil {
			s.Fatalf("deleting an item: %v", err)
		}
	}
}

// stored returns an item, or nil.
func (s *scene) stored(key item) item {
	s.Helper()
	t := s.store.Table
	out, err := t.Client.GetItem(s.Context(),
		&dynamodb.GetItemInput{TableName: &t.Name, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		s.Fatalf("reading an item: %v", err)
	}
	return out.Item
}

// lands puts an event like a delayed put of a writer, and reports whether the put succeeded.
func (s *scene) lands(event item) bool {
	s.Helper()
	t := s.store.Table
	_, err := t.Client.PutItem(s.Context(), &dynamodb.PutItemInput{
		TableName: &t.Name, Item: event, ConditionExpression: aws.String("attribute_not_exists(par)"),
	})
	if failed := new(types.ConditionalCheckFailedException); errors.As(err, &failed) {
		return false
	}
	if err != nil {
		s.Fatalf("putting an event late: %v", err)
	}
	return true
}

// The kinds of items at a sequence number.
const (
	nothing   = "nothing"
	anEvent   = "an event"
	aSeal     = "a seal"
	tombstone = "a tombstone"
)

// wantSlots checks what is stored at sequence numbers.
func (s *scene) wantSlots(pid, want string, numbers ...int64) {
	s.Helper()
	for _, n := range numbers {
		if got := what(s.stored(s.store.Table.eventKey(pid, n))); got != want {
			s.Errorf("number %d of %s has %s, want %s", n, name(pid), got, want)
		}
	}
}

func what(it item) string {
	switch {
	case it == nil:
		return nothing
	case it["event"] != nil:
		return anEvent
	case it["expires"] != nil:
		return tombstone
	}
	return aSeal
}

// wantNeverWhole checks that a JVM plug-in regards the items at the numbers as members of
// incomplete atomic writes.
func (s *scene) wantNeverWhole(pid string, numbers ...int64) {
	s.Helper()
	for _, n := range numbers {
		it := s.stored(s.store.Table.eventKey(pid, n))
		for _, attribute := range []string{"idx", "cnt"} {
			if v, ok := it[attribute].(*types.AttributeValueMemberN); !ok || v.Value != strconv.Itoa(neverWhole) {
				s.Errorf("at %d of %s, %s is %v, want %d", n, name(pid), attribute, it[attribute], neverWhole)
			}
		}
	}
}
