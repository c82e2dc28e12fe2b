package main

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// TestCommandsWorkWithMarksFarFromTheEvents puts marks that are far from the only events.
func TestCommandsWorkWithMarksFarFromTheEvents(t *testing.T) {
	testsize.NeedsLong(t, "TestFarMarks_RequestsAreBounded does the same without the command")
	testsize.NoRace(t, "it does one thing after the other")
	clean(t)
	for _, c := range []struct {
		kind string
		far  int64
	}{{"SH", 100_000_000}, {"SH", 1_000_000_000_000}, {"SH", 9_223_372_036_854_775_800}, {"SL", 1_000_000_000_000}} {
		data := filepath.Join(t.TempDir(), "data")
		must(t, "--data", data, "append", "a", "--string", "x", "--string", "y")
		engine, err := embedded.Open(data)
		if err != nil {
			t.Fatal(err)
		}
		_, err = dynamodb.NewFromConfig(engine.AWSConfig()).PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: new(dynajournal.DefaultJournalTable),
			Item: map[string]types.AttributeValue{
				"par": &types.AttributeValueMemberS{Value: "journal-" + c.kind + "-a-0"},
				"num": &types.AttributeValueMemberN{Value: "0"},
				"seq": &types.AttributeValueMemberN{Value: strconv.FormatInt(c.far, 10)},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.Close(); err != nil {
			t.Fatal(err)
		}
		highest, events := 2.0, 2
		if c.kind == "SL" {
			highest, events = float64(c.far-1), 0
		}
		if got := must(t, "--data", data, "highest", "a")[0]["highest"]; got != highest {
			t.Errorf("%s at %d: highest is %v", c.kind, c.far, got)
		}
		if got := must(t, "--data", data, "events", "a"); len(got) != events {
			t.Errorf("%s at %d: %d events", c.kind, c.far, len(got))
		}
		if o := invoke(t.Context(), "", "--data", data, "verify", "a"); o.status != statusFailed ||
			len(results(t, o.out)) == 0 {
			t.Errorf("%s at %d: verify ends with %d: %s%s", c.kind, c.far, o.status, o.out, o.err)
		}
		if got := must(t, "--data", data, "append", "a", "--string", "z")[0]["sequence_nr"]; got != highest+1 {
			t.Errorf("%s at %d: append has written %v", c.kind, c.far, got)
		}
		must(t, "--data", data, "purge", "a", "--yes")
		if got := must(t, "--data", data, "events", "a"); len(got) != 0 {
			t.Errorf("%s at %d: %d events after a purge", c.kind, c.far, len(got))
		}
	}
}
