package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

// touch changes the tables of the default folder directly, without the journal.
func touch(t *testing.T, change func(*dynamodb.Client) error) {
	t.Helper()
	w := location{Layout: layoutCurrent}
	p, err := w.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := change(dynamodb.NewFromConfig(p.config.AWS)); err != nil {
		t.Error(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotsAreSelectedByTheirCriteria(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	clean(t)
	must(t, "append", "a", "--string", "1", "--string", "2", "--string", "3")
	var saved []map[string]any
	for _, args := range [][]string{{"--seq", "1", "--string", "one"}, {"--seq", "3", "--bytes-base64", "AP8="}} {
		saved = append(saved, must(t, append([]string{"snapshot", "save", "a"}, args...)...)...)
	}
	o := invoke(t.Context(), `{ "n": 1 }`, "snapshot", "save", "a", "--seq", "2", "--json", "-", "--manifest",
		"bank.State")
	if o.status != statusDone || o.err != "" {
		t.Fatal(o)
	}
	saved = append(saved[:1], results(t, o.out)[0], saved[1])
	first := time.UnixMilli(numbers(t, saved, "timestamp")[0]).UTC()
	for name, c := range map[string]struct {
		args []string
		want []int64
	}{
		"all, newest first":                  {nil, []int64{3, 2, 1}},
		"a lowest sequence number":           {[]string{"--min-seq", "2"}, []int64{3, 2}},
		"a highest sequence number":          {[]string{"--max-seq", "2"}, []int64{2, 1}},
		"both":                               {[]string{"--min-seq", "2", "--max-seq", "2"}, []int64{2}},
		"an earliest time":                   {[]string{"--min-ts", first.Format(time.RFC3339Nano)}, []int64{3, 2, 1}},
		"a latest time":                      {[]string{"--max-ts", "1000"}, nil},
		"a time zone":                        {[]string{"--max-ts", "1970-01-01T02:00:00+01:00"}, nil},
		"a time and a sequence number":       {[]string{"--min-ts", "0", "--max-seq", "1"}, []int64{1}},
		"numbers the wrong way round":        {[]string{"--min-seq", "3", "--max-seq", "1"}, nil},
		"times the wrong way round":          {[]string{"--min-ts", "2999-01-01T00:00:00Z", "--max-ts", "1000"}, nil},
		"a persistence id that has none":     {[]string{"--min-seq", "4"}, nil},
		"an earliest time that is to come":   {[]string{"--min-ts", "2999-01-01T00:00:00Z"}, nil},
		"a latest time that is to come, too": {[]string{"--max-ts", "2999-01-01T00:00:00Z"}, []int64{3, 2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			found := must(t, append([]string{"snapshots", "a"}, c.args...)...)
			if got := numbers(t, found, "sequence_nr"); !reflect.DeepEqual(got, c.want) {
				t.Errorf("snapshots %v, want %v", got, c.want)
			}
			for i, r := range found {
				if want := saved[c.want[i]-1]; !reflect.DeepEqual(r, want) {
					t.Errorf("%v was saved, %v is found", want, r)
				}
			}
			loaded := must(t, append([]string{"snapshot", "load", "a"}, c.args...)...)
			if got := numbers(t, loaded, "sequence_nr"); !reflect.DeepEqual(got, c.want[:min(1, len(c.want))]) {
				t.Errorf("load takes %v of %v", got, c.want)
			}
		})
	}
}

func TestLoadReportsThatThereIsNoSnapshot(t *testing.T) {
	clean(t)
	must(t, "append", "a", "--string", "x")
	if o := invoke(t.Context(), "", "snapshot", "load", "a"); o.status != statusDone || o.out != "" ||
		o.err != "a has no snapshot that matches\n" {
		t.Errorf("%+v", o)
	}
}

func TestSaveWarnsOfASnapshotBeyondTheJournal(t *testing.T) {
	clean(t)
	must(t, "append", "a", "--string", "x")
	if o := invoke(t.Context(), "", "snapshot", "save", "a", "--seq", "1", "--string",
		"s"); o.status != statusDone || o.err != "" {
		t.Errorf("%+v", o)
	}
	if o := invoke(t.Context(), "", "snapshot", "save", "a", "--seq", "2", "--string",
		"s"); o.status != statusDone || !strings.HasPrefix(o.err, "warning: the last event of a is 1") {
		t.Errorf("%+v", o)
	}
}

func TestSnapshotDeleteShowsWhatItHasDeleted(t *testing.T) {
	clean(t)
	must(t, "append", "a", "--string", "1", "--string", "2", "--string", "3")
	for _, seq := range []string{"1", "2", "3"} {
		must(t, "snapshot", "save", "a", "--seq", seq, "--string", "state "+seq)
	}
	deleted := must(t, "snapshot", "delete", "a", "--max-seq", "2")
	if got := numbers(t, deleted, "sequence_nr"); !reflect.DeepEqual(got, []int64{2, 1}) ||
		deleted[0]["payload"] != "state 2" {
		t.Errorf("%v", deleted)
	}
	if got := numbers(t, must(t, "snapshots", "a"), "sequence_nr"); !reflect.DeepEqual(got, []int64{3}) {
		t.Errorf("%v are left", got)
	}
	if got := must(t, "snapshot", "delete", "a", "--max-seq", "2"); got != nil {
		t.Errorf("deleted again: %v", got)
	}
}

func TestSnapshotDeleteDeletesWhatCantBeRead(t *testing.T) {
	clean(t)
	must(t, "append", "a", "--string", "1", "--string", "2", "--string", "3")
	must(t, "snapshot", "save", "a", "--seq", "1", "--string", "s")
	must(t, "snapshot", "save", "a", "--seq", "3", "--string", "s")
	touch(t, func(c *dynamodb.Client) error {
		_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new("pekko-persistence-snapshot"), Item: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: "journal-P-a"},
			"seq": &types.AttributeValueMemberN{Value: "2"},
			"ts":  &types.AttributeValueMemberN{Value: "1"},
		}})
		return err
	})
	if o := invoke(t.Context(), "", "snapshots", "a"); o.status != statusFailed {
		t.Errorf("the damage was not noticed: %+v", o)
	}
	o := invoke(t.Context(), "", "snapshot", "delete", "a")
	if got := numbers(t, results(t, o.out), "sequence_nr"); o.status != statusDone ||
		!reflect.DeepEqual(got, []int64{3, 1}) || !strings.Contains(o.err, "deleted 1 more") {
		t.Errorf("%+v", o)
	}
	if got := must(t, "snapshots", "a"); got != nil {
		t.Errorf("%v are left", got)
	}
}

func TestTheLayoutPayWritesSnapshotsInTheEnvelope(t *testing.T) {
	clean(t)
	must(t, "append", "a", "--string", "1")
	must(t, "--layout", "pay", "snapshot", "save", "a", "--seq", "1", "--string", "s")
	touch(t, func(c *dynamodb.Client) error {
		found, err := c.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: new("pekko-persistence-snapshot"), Key: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: "journal-P-a"},
			"seq": &types.AttributeValueMemberN{Value: "1"},
		}})
		if err == nil && found.Item["pay"] == nil {
			t.Errorf("there is no envelope in %v", found.Item)
		}
		return err
	})
	if got := must(t, "snapshot", "load", "a"); len(got) != 1 || got[0]["payload"] != "s" {
		t.Errorf("%v", got)
	}
}
