package legacy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"google.golang.org/protobuf/proto"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/persistentpb"
	"github.com/dynajournal/dynajournal/legacy"
	"github.com/dynajournal/dynajournal/serialization"
)

type attributes = map[string]types.AttributeValue

// goldenValue is a value in DynamoDB JSON.
type goldenValue struct {
	S, N *string
	B    *[]byte
	SS   []string
}

func (v goldenValue) attribute() types.AttributeValue {
	switch {
	case v.S != nil:
		return &types.AttributeValueMemberS{Value: *v.S}
	case v.N != nil:
		return &types.AttributeValueMemberN{Value: *v.N}
	case v.SS != nil:
		return &types.AttributeValueMemberSS{Value: v.SS}
	}
	return &types.AttributeValueMemberB{Value: *v.B}
}

type goldenStep struct {
	Op, Pid, Channel string
	N                int
	Seq, To, From    int64
	Seqs             []int64
	Max              *int64
	Permanent        bool
	Result           struct {
		Events []struct {
			SeqNr         int64
			PersistenceID string `json:"persistenceId"`
			Deleted       bool
			Class         string
			Value         json.RawMessage
			Confirms      []string
		}
		HighestSeqNr int64
		Lowest       int64
	}
}

type scenario struct {
	name  string
	steps []goldenStep
	items []attributes
}

func scenarios(tb testing.TB) []scenario {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*", "*.json"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("there are no golden files (%v)", err)
	}
	var all []scenario
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		var golden struct {
			Steps  []goldenStep
			Tables map[string][]map[string]goldenValue
		}
		if err := json.Unmarshal(data, &golden); err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		s := scenario{name: strings.TrimSuffix(filepath.Base(file), ".json"), steps: golden.Steps}
		for _, it := range golden.Tables["sclasen-journal"] {
			item := attributes{}
			for name, v := range it {
				item[name] = v.attribute()
			}
			s.items = append(s.items, item)
		}
		all = append(all, s)
	}
	return all
}

func (b *fixture) put(items ...attributes) {
	b.Helper()
	for _, item := range items {
		_, err := b.table.PutItem(b.Context(),
			&dynamodb.PutItemInput{TableName: aws.String(dynajournal.DefaultJournalTable), Item: item})
		if err != nil {
			b.Fatalf("plant an item: %v", err)
		}
	}
}

// items returns all items of the table, by their keys.
func (b *fixture) items() map[string]attributes {
	b.Helper()
	all := map[string]attributes{}
	pages := dynamodb.NewScanPaginator(b.table,
		&dynamodb.ScanInput{TableName: aws.String(dynajournal.DefaultJournalTable), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(b.Context())
		if err != nil {
			b.Fatalf("scan: %v", err)
		}
		for _, item := range page.Items {
			all[keyOf(item)] = item
		}
	}
	return all
}

func keyOf(item attributes) string {
	if key, ok := item["key"].(*types.AttributeValueMemberS); ok {
		return key.Value
	}
	for _, name := range []string{"persistenceId", "processorId"} {
		if id, ok := item[name].(*types.AttributeValueMemberS); ok {
			return id.Value + "/" + item["sequenceNr"].(*types.AttributeValueMemberN).Value
		}
	}
	return ""
}

// unprefixed returns items in the form of the first versions, whose keys do not contain the
// journal's name.
func unprefixed(items []attributes) []attributes {
	var all []attributes
	for _, item := range items {
		other := maps.Clone(item)
		other["key"] = &types.AttributeValueMemberS{Value: strings.TrimPrefix(keyOf(item), "journal-")}
		all = append(all, other)
	}
	return all
}

// TestGolden_ReadsPluginJournals reads the plug-in's journals, and compares them with the replays
// of the plug-in after which nothing was changed.
func TestGolden_ReadsPluginJournals(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios(t) {
		for _, layout := range []legacy.Layout{legacy.HashKey, legacy.HashKeyUnprefixed} {
			t.Run(s.name+" "+layout.String(), func(t *testing.T) {
				t.Parallel()
				b := newFixture(t, layout)
				b.put(map[legacy.Layout][]attributes{legacy.HashKey: s.items,
					legacy.HashKeyUnprefixed: unprefixed(s.items)}[layout]...)
				j := b.open()
				changed := slices.IndexFunc(s.steps, func(g goldenStep) bool { return g.Op == "replay" })
				for i, step := range s.steps {
					if slices.Contains([]string{"write", "delete", "deleteTo", "confirm"}, step.Op) {
						changed = i
					}
				}
				compared := 0
				for i, step := range s.steps {
					if i < changed {
						continue
					}
					switch step.Op {
					case "replay":
						checkReplay(b, j, step)
						compared++
					case "lowest":
						if got := b.bounds(j, step.Pid).Lowest; got != step.Result.Lowest {
							t.Errorf("the lowest number is %d, the plug-in returned %d", got, step.Result.Lowest)
						}
					}
				}
				if compared == 0 && s.name != "hard-delete" {
					t.Error("nothing was compared")
				}
				checkGoingOn(b, j, s)
			})
		}
	}
}

func checkReplay(b *fixture, j *legacy.Journal, step goldenStep) {
	b.Helper()
	got := b.read(j, step.Pid, dynajournal.Range{From: step.From, To: step.To, Limit: step.Max})
	if len(got) != len(step.Result.Events) {
		b.Fatalf("a replay returned %v, the plug-in %d events", numbers(got), len(step.Result.Events))
	}
	for i, want := range step.Result.Events {
		e := got[i]
		if e.SequenceNumber != want.SeqNr || e.PersistenceID != want.PersistenceID || e.Deleted != want.Deleted ||
			!slices.Equal(e.Confirmations, want.Confirms) {
			b.Errorf("event %d is %+v, the plug-in has %+v", i, e, want)
		}
		switch want.Class {
		case "java.lang.String":
			var text string
			if err := json.Unmarshal(want.Value, &text); err != nil {
				b.Fatal(err)
			}
			got, err := dynajournal.Decode[string](context.Background(), e.Event)
			if err != nil || e.SerializerID != serialization.IDJava || got != text {
				b.Errorf("event %d is %q (%v), want the Java string %q", e.SequenceNumber, got, err, text)
			}
		case "[B":
			var bytes []byte
			if err := json.Unmarshal(want.Value, &bytes); err != nil {
				b.Fatal(err)
			}
			if got, err := dynajournal.Decode[[]byte](context.Background(), e.Event); err != nil || string(got) != string(bytes) {
				b.Errorf("event %d is %q (%v), want %q", e.SequenceNumber, got, err, bytes)
			}
		}
	}
	if highest := b.bounds(j, step.Pid).Highest; highest != step.Result.HighestSeqNr {
		b.Errorf("the highest number is %d, the plug-in returned %d", highest, step.Result.HighestSeqNr)
	}
}

// checkGoingOn recovers each id, and appends to it.
func checkGoingOn(b *fixture, j *legacy.Journal, s scenario) {
	b.Helper()
	pid := s.steps[0].Pid
	before, highest := numbers(b.read(j, pid, dynajournal.Range{})), b.bounds(j, pid).Highest
	w := b.recovered(j, pid)
	b.write(w, 2)
	got := numbers(b.read(b.open(), pid, dynajournal.Range{}))
	if want := append(before, highest+1, highest+2); !slices.Equal(got, want) {
		b.Errorf("after the append the events are %v, want %v", got, want)
	}
}

// TestGolden_WritesPluginItems repeats the plug-in's steps and expects the same items,
// except for the plug-in's mistakes: its marking from number 0 on has left an item without an event
// and a mark of number 0, and its removing has left no low marks.
func TestGolden_WritesPluginItems(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, legacy.HashKey)
			j := b.open()
			for _, step := range s.steps {
				redo(b, j, s, step)
			}
			got := b.items()
			for _, want := range s.items {
				key := keyOf(want)
				if slices.Contains([]string{"journal-P-s-soft-0", "journal-SL-s-soft-0"}, key) {
					continue
				}
				if !reflect.DeepEqual(got[key], want) {
					t.Errorf("at %q there is %v, the plug-in has %v", key, got[key], want)
				}
				delete(got, key)
			}
			for key := range got {
				if s.name == "hard-delete" && strings.HasPrefix(key, "journal-SL-s-hard-") {
					continue
				}
				t.Errorf("at %q there is an item, the plug-in has none", key)
			}
		})
	}
}

// redo repeats a step of the plug-in.
func redo(b *fixture, j *legacy.Journal, s scenario, step goldenStep) {
	b.Helper()
	w := b.recovered(j, step.Pid)
	switch step.Op {
	case "write":
		for range step.N {
			next, err := w.NextSequenceNumber(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if _, err := w.Append(b.Context(), goldenPayload(b, s, step.Pid, next)); err != nil {
				b.Fatalf("Append at %d: %v", next, err)
			}
		}
	case "confirm":
		if _, err := w.Confirm(b.Context(), step.Seq, step.Channel); err != nil {
			b.Fatalf("Confirm: %v", err)
		}
	case "deleteTo":
		how := legacy.Mark
		if step.Permanent {
			how = legacy.Permanent
		}
		b.deleteTo(w, step.To, how)
	case "delete": // of single events, which this package does not support
		for _, seq := range step.Seqs {
			markOne(b, step.Pid, seq, legacy.DefaultSequenceShards)
		}
	}
}

// goldenPayload returns the payload that the plug-in wrote at a number. For a removed event it
// returns the payload of another event.
func goldenPayload(b *fixture, s scenario, pid string, seq int64) serialization.Payload {
	b.Helper()
	for _, item := range s.items {
		if keyOf(item) == fmt.Sprintf("journal-P-%s-%d", pid, seq) {
			var m persistentpb.PersistentMessage
			if err := proto.Unmarshal(item["payload"].(*types.AttributeValueMemberB).Value, &m); err != nil {
				b.Fatal(err)
			}
			return serialization.Payload{SerializerID: m.GetPayload().GetSerializerId(),
				Bytes: m.GetPayload().GetPayload()}
		}
	}
	return serialization.Payload{SerializerID: serialization.IDJava, Bytes: []byte("removed later")}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

// markOne marks a single event, as the plug-in does.
func markOne(b *fixture, pid string, seq, shards int64) {
	b.Helper()
	_, err := b.table.UpdateItem(b.Context(), &dynamodb.UpdateItemInput{
		TableName:                 aws.String(dynajournal.DefaultJournalTable),
		Key:                       attributes{"key": text(fmt.Sprintf("journal-P-%s-%d", pid, seq))},
		UpdateExpression:          aws.String("SET deleted = :t"),
		ExpressionAttributeValues: attributes{":t": text("true")},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.put(attributes{"key": text(fmt.Sprintf("journal-SL-%s-%d", pid, seq%shards)), "sequenceNr": number(seq)})
}
