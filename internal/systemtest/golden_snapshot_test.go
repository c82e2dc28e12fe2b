package systemtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/serialization"
)

// goldenSnapshots are the scenarios with snapshots.
var goldenSnapshots = map[string]func(*dynajournal.Config){
	"pekko-1.1.0/old-snapshots":                 nil,
	"pekko-1.1.0/snapshot-delete":               nil,
	"pekko-1.1.0/snapshot-kinds":                nil,
	"pekko-1.1.0/snapshot-older-seq-newer-time": nil,
	"pekko-1.1.0/snapshots":                     nil,
	"akka-1.1.1/snapshots":                      func(c *dynajournal.Config) { c.OldSnapshotFormat = true },
}

// The two orders by which a snapshot is selected.
const (
	byNumber = "by the highest number"
	byTime   = "by the newest timestamp"
)

// selectionDiffers lists the selections in which this store must differ from the plug-in. The value
// is the number that it selects. All other selections must equal the plug-in's.
var selectionDiffers = map[string]int64{
	// The newest snapshot by timestamp does not have the highest number.
	byNumber + ": pekko-1.1.0/snapshot-delete load":               10,
	byNumber + ": pekko-1.1.0/snapshot-older-seq-newer-time load": 10,
	// All criteria count together; the plug-in checked the time only of the highest number.
	byNumber + ": pekko-1.1.0/snapshots load max 12 until 3": 3,
	byTime + ": pekko-1.1.0/snapshots load max 12 until 3":   3,
}

func TestGolden_Snapshots(t *testing.T) {
	t.Parallel()
	unused := map[string]bool{}
	for name := range selectionDiffers {
		unused[name] = true
	}
	t.Run("selection", func(t *testing.T) {
		for way, newest := range map[string]bool{byNumber: false, byTime: true} {
			for name, change := range goldenSnapshots {
				t.Run(way+" "+strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
					golden := loadGolden(t, name)
					j, client := openGolden(t, func(c *dynajournal.Config) {
						c.SnapshotNewestByTimestamp = newest
						if change != nil {
							change(c)
						}
					})
					for i, step := range golden.Steps {
						golden.do(t, j, client, step)
						if step.Op != "loadSnapshot" {
							continue
						}
						label := way + ": " + name + " " + golden.label(i)
						want, differs := selectionDiffers[label]
						if !differs {
							want = step.Result.SeqNr
						}
						delete(unused, label)
						golden.checkSelection(t, j, label, step, want)
					}
					checkGoldenTable(t, client, dynajournal.DefaultSnapshotTable, "seq", golden.snapshots)
				})
			}
		}
	})
	for name := range unused {
		t.Errorf("the difference %q is in no scenario", name)
	}
}

// label returns a name for a loading step: its bounds, with timestamps replaced by the number of
// the snapshot that has them.
func (g *goldenDeeds) label(step int) string {
	s := g.Steps[step]
	label := "load"
	seqOf := func(ts int64) string {
		for _, before := range g.Steps[:step] {
			if before.Op == "saveSnapshot" && before.Result.Timestamp == ts {
				return fmt.Sprint(before.Seq)
			}
		}
		return time.UnixMilli(ts).UTC().Format(time.RFC3339)
	}
	if n := s.MinSeq; n != 0 {
		label += fmt.Sprint(" min ", n)
	}
	if n := max(s.MaxSeq, s.ToSeq); n != 0 {
		label += fmt.Sprint(" max ", n)
	}
	if s.MinTS != nil {
		label += " since " + seqOf(*s.MinTS)
	}
	if s.MaxTS != nil {
		label += " until " + seqOf(*s.MaxTS)
	}
	return label
}

// do runs a step that changes snapshots, at the plug-in's time.
func (g *goldenDeeds) do(tb testing.TB, j *dynajournal.Journal, client *dynamodb.Client, step goldenDeed) {
	tb.Helper()
	var err error
	switch step.Op {
	case "import":
		importSnapshots(tb, client, "akka-1.1.1/"+strings.TrimSuffix(path.Base(step.File), ".json"))
	case "saveSnapshot":
		state := javaPayload(tb, stored(tb, g.snapshots, step.Pid, step.Seq))
		if state == nil {
			state = step.Event.value(tb)
		}
		_, err = j.SaveSnapshot(tb.Context(), dynajournal.SnapshotMetadata{
			PersistenceID: step.Pid, SequenceNumber: step.Seq, Timestamp: time.UnixMilli(step.Result.Timestamp),
		}, state)
	case "deleteSnapshot":
		_, err = j.DeleteSnapshots(tb.Context(), step.Pid, dynajournal.SnapshotCriteria{MinSequenceNumber: step.Seq, MaxSequenceNumber: step.Seq})
	case "deleteSnapshots":
		_, err = j.DeleteSnapshots(tb.Context(), step.Pid, step.criteria())
	}
	if err != nil {
		tb.Fatalf("%s: %v", step.Op, err)
	}
}

// criteria returns the step's criteria.
func (d *goldenDeed) criteria() dynajournal.SnapshotCriteria {
	c := dynajournal.SnapshotCriteria{MinSequenceNumber: d.MinSeq, MaxSequenceNumber: max(d.MaxSeq, d.ToSeq)}
	if d.MinTS != nil {
		c.MinTimestamp = time.UnixMilli(*d.MinTS)
	}
	if d.MaxTS != nil {
		c.MaxTimestamp = time.UnixMilli(*d.MaxTS)
	}
	return c
}

// importSnapshots stores the snapshot items of another scenario.
func importSnapshots(tb testing.TB, client *dynamodb.Client, name string) {
	tb.Helper()
	for _, item := range loadGolden(tb, name).snapshots {
		attributes := map[string]types.AttributeValue{}
		for attribute, v := range item {
			attributes[attribute] = v.attribute()
		}
		in := &dynamodb.PutItemInput{TableName: aws.String(dynajournal.DefaultSnapshotTable), Item: attributes}
		if _, err := client.PutItem(tb.Context(), in); err != nil {
			tb.Fatalf("import a snapshot: %v", err)
		}
	}
}

// checkSelection loads the snapshot that the step selects, and compares its number, time and state
// with the saved snapshot.
func (g *goldenDeeds) checkSelection(tb testing.TB, j *dynajournal.Journal, label string, step goldenDeed, want int64) {
	tb.Helper()
	loaded, found, err := j.LoadSnapshot(tb.Context(), step.Pid, step.criteria())
	if err != nil {
		tb.Fatalf("%s: %v", label, err)
	}
	if loaded.SequenceNumber != want || found != (want != 0) {
		tb.Errorf("%s selects the snapshot at %d, want %d", label, loaded.SequenceNumber, want)
		return
	}
	if !found || want != step.Result.SeqNr {
		return
	}
	if got := loaded.Timestamp.UnixMilli(); got != step.Result.Timestamp {
		tb.Errorf("%s has the timestamp %d, want %d", label, got, step.Result.Timestamp)
	}
	state, err := loaded.State(tb.Context())
	if err != nil {
		tb.Fatalf("%s: %v", label, err)
	}
	checkGoldenState(tb, label, state, step.Result)
}

// checkGoldenState compares a decoded state with the plug-in's result.
func checkGoldenState(tb testing.TB, label string, state any, want goldenResult) {
	tb.Helper()
	var shown any
	switch state := state.(type) {
	case serialization.JavaObject:
		if state.Class != want.Class {
			tb.Errorf("%s is of class %s, want %s", label, state.Class, want.Class)
		}
		return
	case *wrapperspb.StringValue:
		shown = state.GetValue()
	case jsonOrder:
		shown = state
		if state.Note != nil && len(*state.Note) > longestShown {
			shown = map[string]any{"id": state.ID, "amount": state.Amount, "noteLength": len(*state.Note)}
		}
	default:
		shown = state
	}
	got, err := json.Marshal(shown)
	if err != nil {
		tb.Fatalf("%s: %v", label, err)
	}
	var a, b any
	if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal(want.Value, &b)); err != nil {
		tb.Fatalf("%s: %v", label, err)
	}
	if !reflect.DeepEqual(a, b) {
		tb.Errorf("%s has the state %.200s, want %.200s", label, got, want.Value)
	}
}

// longestShown is the length of the longest text that the golden results show. For longer texts
// they show only the length.
const longestShown = 5000
