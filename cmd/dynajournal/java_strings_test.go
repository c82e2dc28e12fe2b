package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/legacy"
)

// storedBy03 is a scenario of the golden data: the items that the plug-in 0.3 stored, and the
// events that it replayed.
type storedBy03 struct {
	Steps []struct {
		Op        string
		PID       string
		From, Max *int64
		Result    struct {
			Events []struct {
				SeqNr   int64
				Deleted bool
				Value   json.RawMessage
			}
		}
	}
	Tables map[string][]map[string]struct {
		S, N *string
		B    []byte
		SS   []string
	}
}

// plant puts the items into a table of the hash-key layout.
func (s storedBy03) plant(t *testing.T, table string) {
	t.Helper()
	p, err := (&location{Layout: layoutCurrent}).open(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.close() }()
	config := legacy.Config{Layout: legacy.HashKey, Journal: p.config}
	config.Journal.JournalTable = table
	if err := legacy.CreateTable(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	client := dynamodb.NewFromConfig(p.config.AWS)
	for _, stored := range s.Tables["sclasen-journal"] {
		item := map[string]types.AttributeValue{}
		for name, v := range stored {
			switch {
			case v.S != nil:
				item[name] = &types.AttributeValueMemberS{Value: *v.S}
			case v.N != nil:
				item[name] = &types.AttributeValueMemberN{Value: *v.N}
			case v.SS != nil:
				item[name] = &types.AttributeValueMemberSS{Value: v.SS}
			default:
				item[name] = &types.AttributeValueMemberB{Value: v.B}
			}
		}
		in := &dynamodb.PutItemInput{TableName: &table, Item: item}
		if _, err := client.PutItem(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
}

// replayed returns a persistence id and the payloads of its whole replay by number. all includes
// the events that are marked as deleted, live does not.
func (s storedBy03) replayed(t *testing.T) (pid string, all, live map[float64]any) {
	t.Helper()
	all, live = map[float64]any{}, map[float64]any{}
	for _, step := range s.Steps {
		if step.Op != "replay" || step.From != nil || step.Max != nil {
			continue
		}
		for _, e := range step.Result.Events {
			var value any
			if err := json.Unmarshal(e.Value, &value); err != nil {
				t.Fatal(err)
			}
			all[float64(e.SeqNr)] = value
			if !e.Deleted {
				live[float64(e.SeqNr)] = value
			}
		}
		return step.PID, all, live
	}
	t.Fatal("there is no replay")
	return "", nil, nil
}

// payloads returns the decoded payloads that the command prints, by number.
func payloads(found []map[string]any) map[float64]any {
	shown := map[float64]any{}
	for _, e := range found {
		seq, _ := e["sequence_nr"].(float64)
		shown[seq] = e["payload"]
	}
	return shown
}

// TestMigrate_StringsOf03 reads items of the plug-in 0.3 with default settings, in place and
// after a migration, with the command and from Go.
func TestMigrate_StringsOf03(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	golden := filepath.Join("..", "..", "legacy", "testdata", "golden", "sclasen-0.3")
	for _, name := range []string{"singles-5", "soft-delete", "confirmations", "bytes-30"} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			data, err := os.ReadFile(filepath.Join(golden, name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var s storedBy03
			if err := json.Unmarshal(data, &s); err != nil {
				t.Fatal(err)
			}
			const table = "old"
			s.plant(t, table)
			pid, all, live := s.replayed(t)
			if len(live) == 0 {
				t.Fatal("the replay has no events")
			}
			old := must(t, "--layout", "hash-key", "--journal-table", table, "events", pid)
			if got := payloads(old); !reflect.DeepEqual(got, all) {
				t.Errorf("where they are: %v, want %v", got, all)
			}
			must(t, "migrate", "--from-layout", "hash-key", "--from-table", table)
			if got := payloads(must(t, "events", pid)); !reflect.DeepEqual(got, live) {
				t.Errorf("after the migration: %v, want %v", got, live)
			}
			checkStringsInGo(t, pid, live)
		})
	}
}

// checkStringsInGo decodes the events of a journal with default settings.
func checkStringsInGo(t *testing.T, pid string, want map[float64]any) {
	t.Helper()
	j, done := journalHere(t)
	defer done()
	for e, err := range j.Events(t.Context(), pid, dynajournal.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.SerializerID != 1 {
			continue // bytes, which had their own serializer
		}
		got, err := dynajournal.Decode[string](t.Context(), e)
		if err != nil || got != want[float64(e.SequenceNumber)] {
			t.Errorf("event %d is %q, %v", e.SequenceNumber, got, err)
		}
	}
}
