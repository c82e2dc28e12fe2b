package provision_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// An update adds a missing expiry, and the missing index for the journal's kind. It adds nothing
// twice.
func TestUpdate_AddsExpiryAndIndex(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header bool
		index  string
	}{
		"a JVM's table":                     {false, layout.SharedIDsIndex},
		"a native journal without an index": {true, layout.NativeIDsIndex},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTables(t)
			s.table(&dynamodb.CreateTableInput{})
			if c.header {
				s.putHeader(nil)
			}
			changes, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{})
			if err != nil || len(changes) != 2 || !strings.Contains(changes[0].Added, layout.AttrExpires) || changes[1].Added != "index "+c.index {
				t.Fatalf("Update: %+v, %v", changes, err)
			}
			for _, change := range changes {
				if change.Table != events || change.Costs == "" {
					t.Errorf("a change without its table or its costs: %+v", change)
				}
			}
			described, err := s.journal.Describe(t.Context(), s.client, events)
			if err != nil || described.TTL != layout.AttrExpires || len(described.Indexes) != 1 || described.Indexes[0].Name != c.index {
				t.Errorf("after the update the table is %+v, %v", described, err)
			}
			if again, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{}); err != nil || len(again) != 0 {
				t.Errorf("a second update: %+v, %v", again, err)
			}
		})
	}
}

// outdated stores the header of a native journal of an earlier format.
func (s *tables) outdated(shards string) {
	s.Helper()
	s.putHeader(func(item map[string]types.AttributeValue) {
		item["version"], item["shards"] = &types.AttributeValueMemberN{Value: "1"}, &types.AttributeValueMemberN{Value: shards}
	})
}

// wantRefused checks that a journal is refused with an error that says what to do.
func (s *tables) wantRefused(what string) {
	s.Helper()
	_, inspected := s.journal.Inspect(s.Context(), s.client)
	created := s.journal.Create(s.Context(), s.client, native)
	for call, err := range map[string]error{"Inspect": inspected, "Create": created} {
		if !errors.Is(err, provision.ErrHeaderMismatch) || !strings.Contains(err.Error(), what) {
			s.Errorf("%s: %v, want %q", call, err, what)
		}
	}
}

// A native journal of an earlier format is refused until an update has raised its version.
func TestUpdateRaisesTheVersion(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.create(native)
	s.outdated("1")
	s.wantRefused("run `dynajournal tables update`")
	if d, err := s.journal.Describe(t.Context(), s.client, events); err != nil || d.Version != 1 || d.Kind != "native" || d.Shards != 1 {
		t.Errorf("before the update: %+v, %v", d, err)
	}
	changes, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{})
	if err != nil || len(changes) != 1 || changes[0].Table != events || !strings.HasPrefix(changes[0].Added, "format version 2") {
		t.Fatalf("Update: %+v, %v", changes, err)
	}
	found, err := s.journal.Inspect(t.Context(), s.client)
	want := layout.Header{Kind: layout.KindNative, Shards: 1, IDsShards: 8, Version: layout.NativeVersion, FenceWindow: 7200}
	if err != nil || found.Header != want {
		t.Errorf("after the update the header is %+v, %v; want %+v", found.Header, err, want)
	}
	if d, err := s.journal.Describe(t.Context(), s.client, events); err != nil || d.Version != 2 {
		t.Errorf("after the update: %+v, %v", d, err)
	}
	if again, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{}); err != nil || len(again) != 0 {
		t.Errorf("a second update: %+v, %v", again, err)
	}
}

// A shared journal stays at its version: a JVM knows no header.
func TestUpdateKeepsTheVersionOfASharedJournal(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.journal.SequenceShards = 10
	s.create(shared)
	if changes, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{}); err != nil || len(changes) != 0 {
		t.Errorf("Update: %+v, %v", changes, err)
	}
	if d, err := s.journal.Describe(t.Context(), s.client, events); err != nil || d.Version != 1 {
		t.Errorf("the journal table: %+v, %v", d, err)
	}
}

// The low mark of a native journal is one item. A journal with several shards has to be copied.
func TestUpdate_NativeWithSeveralShards(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.create(native)
	s.outdated("3")
	const advice = "import it into a new one"
	s.wantRefused(advice)
	before := s.header()
	changes, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{})
	if !errors.Is(err, provision.ErrHeaderMismatch) || !strings.Contains(err.Error(), advice) || len(changes) > 0 {
		t.Errorf("Update: %+v, %v, want %q", changes, err, advice)
	}
	if after := s.header(); !reflect.DeepEqual(after, before) {
		t.Errorf("the header is %v, was %v", after, before)
	}
}

// An update does not overwrite a header whose version a later release has raised since the update
// read it.
func TestUpdate_KeepsLaterVersion(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.create(native)
	s.outdated("1")
	later := func(item map[string]types.AttributeValue) { item["version"] = &types.AttributeValueMemberN{Value: "3"} }
	s.before = func(operation string) bool {
		if operation == "PutItem" {
			s.putHeader(later)
		}
		return true
	}
	if changes, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{}); err != nil || len(changes) != 0 {
		t.Errorf("Update: %+v, %v", changes, err)
	}
	if d, err := s.journal.Describe(t.Context(), s.client, events); err != nil || d.Version != 3 {
		t.Errorf("the journal table: %+v, %v", d, err)
	}
}

func TestJournalOfAnUnknownVersionIsRefused(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0", "3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := newTables(t)
			s.create(native)
			s.putHeader(func(item map[string]types.AttributeValue) {
				item["version"] = &types.AttributeValueMemberN{Value: version}
			})
			const advice = "use a newer release"
			s.wantRefused(advice)
			if _, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{}); err == nil || !strings.Contains(err.Error(), advice) {
				t.Errorf("Update: %v, want %q", err, advice)
			}
		})
	}
}

func TestUpdateKeepsAnotherExpiry(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.table(&dynamodb.CreateTableInput{})
	if _, err := s.client.EnableTTL(t.Context(), events, "ends"); err != nil {
		t.Fatal(err)
	}
	changes, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{})
	if err != nil || len(changes) != 1 || !strings.HasPrefix(changes[0].Added, "index ") {
		t.Errorf("Update: %+v, %v; want the index alone", changes, err)
	}
}

// An update that fails returns its additions before the failure.
func TestUpdate_FailureReturnsAdditions(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.table(&dynamodb.CreateTableInput{})
	s.before = func(operation string) bool { return operation != "UpdateTable" }
	changes, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{})
	if !errors.Is(err, dynamo.ErrDenied) || len(changes) != 1 {
		t.Errorf("Update: %+v, %v; want the expiry and ErrDenied", changes, err)
	}
}

func TestProvisionedTablesHaveProvisionedIndexes(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.create(provision.Options{SharedWithJVM: true, ReadUnits: 40, WriteUnits: 30})
	for _, name := range []string{events, snapshots} {
		d, err := s.journal.Describe(t.Context(), s.client, name)
		if err != nil || d.ReadUnits != 40 || d.WriteUnits != 30 {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		for _, index := range d.Indexes {
			if !index.Local && (index.ReadUnits != 40 || index.WriteUnits != 30) {
				t.Errorf("%s: index %+v", name, index)
			}
		}
	}
	if _, err := s.direct.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String(events), GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{
		{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String(layout.SharedIDsIndex)}},
	}}); err != nil {
		t.Fatal(err)
	}
	for d, err := s.journal.Describe(t.Context(), s.client, events); len(d.Indexes) > 0; d, err = s.journal.Describe(t.Context(), s.client, events) {
		if err != nil || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	d, err := s.journal.Describe(t.Context(), s.client, events)
	if err != nil || len(d.Indexes) != 1 || d.Indexes[0].ReadUnits != 40 || d.Indexes[0].WriteUnits != 30 {
		t.Errorf("the index that an update adds is %+v, %v", d.Indexes, err)
	}
}

func TestDescriptionHasTheSettingsOfTheHeader(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.journal.SequenceShards, s.journal.FenceWindow = 4, 3*time.Hour
	s.create(shared)
	d, err := s.journal.Describe(t.Context(), s.client, events)
	if err != nil || d.Version != 1 || d.Kind != "shared" || d.Shards != 4 || d.FenceWindow != 3*time.Hour ||
		d.Status != "ACTIVE" || d.TTL != "expires" || d.TTLStatus != "ENABLED" {
		t.Errorf("the journal table: %+v, %v", d, err)
	}
	if len(d.Keys) != 2 || d.Keys[0] != (provision.KeyAttribute{Name: "par", Type: "S"}) || d.Keys[1] != (provision.KeyAttribute{Name: "num", Type: "N"}) {
		t.Errorf("its key: %+v", d.Keys)
	}
	d, err = s.journal.Describe(t.Context(), s.client, snapshots)
	if err != nil || d.Kind != "" || d.Version != 0 || d.TTL != "expires" || len(d.Indexes) != 1 || !d.Indexes[0].Local || d.Indexes[0].Name != layout.SnapshotTSIndex {
		t.Errorf("the snapshot table: %+v, %v", d, err)
	}
	s.putHeader(func(item map[string]types.AttributeValue) { item["version"] = &types.AttributeValueMemberN{Value: "9"} })
	if d, err = s.journal.Describe(t.Context(), s.client, events); err != nil || d.Version != 9 || d.Kind != "" || d.Shards != 0 {
		t.Errorf("with a header of an unknown version: %+v, %v", d, err)
	}
	if _, err := s.journal.Describe(t.Context(), s.client, "none"); !errors.Is(err, dynamo.ErrTableNotFound) {
		t.Errorf("a table that does not exist: %v", err)
	}
}

// A table with another key can't hold a header.
func TestDescriptionOfATableWithAnotherKey(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	if _, err := s.direct.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(events), KeySchema: key("key", ""), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attribute("key", "B")},
	}); err != nil {
		t.Fatal(err)
	}
	d, err := s.journal.Describe(t.Context(), s.client, events)
	if err != nil || d.Kind != "" || len(d.Keys) != 1 || d.Keys[0] != (provision.KeyAttribute{Name: "key", Type: "B"}) {
		t.Errorf("Describe: %+v, %v", d, err)
	}
}

// An update adds a stream and the projections table if the options select them. It adds nothing
// twice.
func TestUpdateAddsWhatProjectionsNeed(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.create(provision.Options{ReadUnits: 7, WriteUnits: 3})
	if changes, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{}); err != nil || len(changes) > 0 {
		t.Fatalf("without being asked: %+v, %v", changes, err)
	}
	both := provision.UpdateOptions{Projections: true, Stream: true}
	changes, err := s.journal.Update(t.Context(), s.client, both)
	name := provision.ProjectionsTable(events)
	if err != nil || len(changes) != 2 || changes[0].Table != events || changes[1].Table != name ||
		changes[0].Costs == "" || changes[1].Costs == "" {
		t.Fatalf("Update: %+v, %v", changes, err)
	}
	stream, err := s.journal.Describe(t.Context(), s.client, events)
	if err != nil || stream.Stream != "NEW_IMAGE" {
		t.Errorf("the table is %+v, %v", stream, err)
	}
	table, err := s.journal.Describe(t.Context(), s.client, name)
	if err != nil || table.ReadUnits != 7 || table.WriteUnits != 3 {
		t.Errorf("the projections table is %+v, %v", table, err)
	}
	if again, err := s.journal.Update(t.Context(), s.client, both); err != nil || len(again) != 0 {
		t.Errorf("a second update: %+v, %v", again, err)
	}
}

// An update adds the index of debts to a projections table of an earlier version, even if the
// options do not select projections. The index has the capacity of the table.
func TestUpdateAddsTheIndexOfDebts(t *testing.T) {
	t.Parallel()
	for name, units := range map[string]int64{"on demand": 0, "provisioned": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTables(t)
			s.create(native)
			in := &dynamodb.CreateTableInput{
				TableName: aws.String(provision.ProjectionsTable(events)), BillingMode: types.BillingModePayPerRequest,
				KeySchema:            key("par", ""),
				AttributeDefinitions: []types.AttributeDefinition{attribute("par", "S")},
			}
			if units > 0 {
				in.BillingMode = types.BillingModeProvisioned
				in.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: &units, WriteCapacityUnits: &units}
			}
			if _, err := s.direct.CreateTable(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			changes, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{})
			if err != nil || len(changes) != 1 || changes[0].Table != *in.TableName || changes[0].Added != "index debts" || changes[0].Costs == "" {
				t.Fatalf("Update: %+v, %v", changes, err)
			}
			d, err := s.journal.Describe(t.Context(), s.client, *in.TableName)
			if err != nil || len(d.Indexes) != 1 || d.Indexes[0].Name != provision.DebtsIndex || d.Indexes[0].WriteUnits != units {
				t.Errorf("after the update the table is %+v, %v", d, err)
			}
			if again, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{Projections: true}); err != nil || len(again) != 0 {
				t.Errorf("a second update: %+v, %v", again, err)
			}
		})
	}
}

// An update replaces the marks of version 0.1.0 for stuck persistence ids with debts that are never
// due. It does not change rows of other journals.
func TestUpdateConvertsStuckMarks(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.create(native)
	if _, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{Projections: true}); err != nil {
		t.Fatal(err)
	}
	table := provision.ProjectionsTable(events)
	row := func(par string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: par}, "stuck": &types.AttributeValueMemberN{Value: "7"},
			"reason": &types.AttributeValueMemberS{Value: "wanted"},
		}
	}
	mine, others := s.journal.Name+"\x00group/all\x00a\x00b", "other\x00group/all\x00a"
	for _, par := range []string{mine, others} {
		if _, err := s.direct.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: row(par)}); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{})
	if err != nil || len(changes) != 1 || changes[0].Table != table || !strings.HasPrefix(changes[0].Added, "the entries of 1 stuck") {
		t.Fatalf("Update: %+v, %v", changes, err)
	}
	stored := func(par string) map[string]types.AttributeValue {
		out, err := s.direct.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: par},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return out.Item
	}
	converted := stored(mine)
	debt, _ := converted["debt"].(*types.AttributeValueMemberS)
	due, _ := converted["due"].(*types.AttributeValueMemberN)
	if debt == nil || debt.Value != s.journal.Name+"\x00group/all" || due == nil || due.Value != "9007199254740991" || converted["stuck"] != nil || converted["reason"] == nil {
		t.Errorf("the row is %v", converted)
	}
	if left := stored(others); left["stuck"] == nil || left["debt"] != nil {
		t.Errorf("the row of another journal is %v", left)
	}
	if again, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{}); err != nil || len(again) != 0 {
		t.Errorf("a second update: %+v, %v", again, err)
	}
}

// Without a projections table, an update needs no permission to scan.
func TestUpdateWithoutProjectionsScansNothing(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.create(native)
	scans := 0
	s.before = func(operation string) bool {
		if operation == "Scan" {
			scans++
		}
		return true
	}
	for _, projections := range []bool{false, true} {
		if _, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{Projections: projections}); err != nil {
			t.Fatal(err)
		}
		if projections != (scans > 0) {
			t.Errorf("with projections %t: %d scans", projections, scans)
		}
	}
}
