//go:build interop

package interop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

// The steps of docs/jvm.md, each with exactly the permissions that it names.

// role is a participant in a handover, with the permissions of its policy.
type role struct {
	*testing.T

	name   string
	gate   *gate
	config string
}

// roles are the roles that docs/jvm.md names.
type roles struct{ reads, prepares, serves, repairs, copies, jvm *role }

// newRoles returns roles on the tables that an application.conf names.
func newRoles(t *testing.T, journal, snapshots string) roles {
	t.Helper()
	file := filepath.Join(t.TempDir(), "application.conf")
	text := fmt.Sprintf("dynamodb-journal { journal-table = %q, sequence-shards = 10 }\ndynamodb-snapshot-store { snapshot-table = %q }\n",
		journal, snapshots)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	permitted := func(name string, operations ...string) *role {
		r := &role{t, name, newGate(t), file}
		r.gate.allow(operations...)
		return r
	}
	return roles{
		reads:    permitted("who inspects", "BatchGetItem", "DescribeTable", "DescribeTimeToLive", "GetItem", "Query", "Scan"),
		prepares: permitted("who prepares", "CreateTable", "DescribeTable", "DescribeTimeToLive", "GetItem", "PutItem", "UpdateTable", "UpdateTimeToLive"),
		// BatchExecuteStatement is PartiQLInsert in a policy.
		serves:  permitted("the service", "BatchExecuteStatement", "BatchGetItem", "BatchWriteItem", "DescribeTable", "GetItem", "PutItem", "Query"),
		repairs: permitted("who repairs", "BatchGetItem", "DescribeTable", "DescribeTimeToLive", "GetItem", "PutItem", "Query"),
		jvm:     permitted("the JVM", "BatchGetItem", "BatchWriteItem", "DescribeTable", "PutItem", "Query"),
		copies:  permitted("who copies", "BatchGetItem", "DescribeTable", "GetItem", "PutItem", "Query", "Scan"),
	}
}

// needed checks that each role needed all its permissions.
func (r roles) needed() {
	for _, r := range []*role{r.reads, r.prepares, r.serves, r.repairs, r.copies, r.jvm} {
		r.Helper()
		if unused := r.gate.unused(); len(unused) > 0 {
			r.Errorf("%s did not need %q", r.name, unused)
		}
	}
}

// try runs the command, which may fail.
func (r *role) try(args ...string) (string, error) {
	r.Helper()
	return commandAt(r, r.gate.url, append([]string{"--config", r.config}, args...)...)
}

// run runs the command.
func (r *role) run(args ...string) string {
	r.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.Fatalf("%s runs dynajournal %q: %v\n%s", r.name, args, err, out)
	}
	return out
}

// open opens the journal in Go.
func (r *role) open(s *service, change ...func(*dynajournal.Config)) *dynajournal.Journal {
	r.Helper()
	return s.open(r, append(change, func(c *dynajournal.Config) { c.Endpoint = r.gate.url })...)
}

// tablesOfAJVM creates the tables of a JVM service: without a header, TTL, or an index of
// persistence ids.
func tablesOfAJVM(tb testing.TB, client *dynamodb.Client, journal, snapshots string) {
	tb.Helper()
	attribute := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	keys := func(hash, rng string) []types.KeySchemaElement {
		return []types.KeySchemaElement{
			{AttributeName: &hash, KeyType: types.KeyTypeHash},
			{AttributeName: &rng, KeyType: types.KeyTypeRange},
		}
	}
	for _, in := range []*dynamodb.CreateTableInput{
		{
			TableName: &journal, KeySchema: keys("par", "num"), BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{attribute("par", "S"), attribute("num", "N")},
		},
		{
			TableName: &snapshots, KeySchema: keys("par", "seq"), BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{attribute("par", "S"), attribute("seq", "N"), attribute("ts", "N")},
			LocalSecondaryIndexes: []types.LocalSecondaryIndex{{
				IndexName: aws.String("ts-idx"), KeySchema: keys("par", "ts"),
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
			}},
		},
	} {
		if _, err := client.CreateTable(tb.Context(), in); err != nil {
			tb.Fatalf("create table %s: %v", *in.TableName, err)
		}
	}
}

func TestServiceIsHandedOverFromTheJVMToGo(t *testing.T) {
	for _, p := range chosenPlugins(t, pekko110) {
		t.Run(p.name, func(t *testing.T) { handOverToGo(t, p) })
	}
}

func handOverToGo(t *testing.T, p *plugin) {
	journal, snapshots := "orders-of-"+p.name, "orders-of-"+p.name+"-snapshot"
	s := newService(t, dynajournal.Config{}, dynajournal.TableOptions{SharedWithJVM: true})
	tablesOfAJVM(t, s.client, journal, snapshots)
	s.config.JournalTable, s.config.SnapshotTable, s.config.SequenceShards = journal, snapshots, 10
	by := newRoles(t, journal, snapshots)
	s.jvm = p.start(t, append(tablesSettings(journal, snapshots), "dynamodb-journal.endpoint="+by.jvm.gate.url)...)

	// The JVM has two entities: one is handed over to Go, the other stays.
	u := newTurns(t, s, s.open(t))
	stays := newTurns(t, s, u.j)
	u.byJVM(operation{singles: 120}, operation{save: true}, operation{deleteTo: 110}, operation{batch: 5})
	stays.byJVM(operation{singles: 20}, operation{deleteTo: 10})

	// 1. Inspect. If the tables lack something, tables describe may exit with a failure.
	if out, err := by.reads.try("tables", "describe"); !strings.Contains(out, journal) {
		t.Errorf("tables describe shows %s (%v), want table %s", out, err, journal)
	}
	if ids := by.reads.run("ids", "--scan", "--limit", "20"); !strings.Contains(ids, u.pid) {
		t.Errorf("ids lists %s, want %q among it", ids, u.pid)
	}
	by.reads.run("events", u.pid, "--max", "5")
	by.reads.run("verify", "--all", "--read-units", "100")
	by.reads.run("repair", "--all", "--dry-run")

	// 2. Prepare the tables, while the JVM runs.
	by.prepares.run("--sequence-shards", "10", "tables", "create", "--shared-with-jvm")
	by.prepares.run("tables", "update")
	if described := by.reads.run("tables", "describe"); !strings.Contains(described, `"shared"`) {
		t.Errorf("after the preparation the tables are %s, want a shared journal", described)
	}
	stays.byJVM(operation{singles: 3}, operation{deleteTo: 15})

	// 3. Read everything in Go.
	reading := by.reads.open(s, func(c *dynajournal.Config) { c.DecodeEagerly = true })
	read := map[string][]seen{}
	for pid, err := range reading.CurrentPersistenceIDs(t.Context(), dynajournal.IDsOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		read[pid] = readGo(t, reading, pid, dynajournal.Range{})
	}
	u.same("Go, reading all,", read[u.pid], u.visible(0, false))

	// 4. Run a live query in Go, while the JVM writes.
	s.startJVM(t, stays.pid)
	s.persistJVM(t, stays.pid, false, "live")
	stays.stored(false, []any{"live"})
	for e, err := range reading.EventsByPersistenceID(t.Context(), stays.pid, stays.highest, stays.highest, dynajournal.Poll{}) {
		if err != nil {
			t.Fatal(err)
		}
		stays.same("Go, reading live,", []seen{see(t, e.Event)}, numbered(t, stays.highest, "live"))
	}
	s.stopJVM(t, stays.pid)

	// 5. Hand over: the entity was stopped, and Go starts it.
	u.j = by.serves.open(s)
	u.byGo(operation{singles: 5}, operation{batch: 100}, operation{save: true}, operation{deleteTo: 205})
	by.reads.run("verify", u.pid)
	stays.byJVM(operation{singles: 1})

	damaged := newPID(t) // by a crash between an event and its high mark
	s.writeJVM(t, damaged, false, texts("event", 104)...)
	s.loseItem(t, "journal-SH-"+damaged+"-1", 0)
	by.repairs.run("repair", damaged)

	// 6. Back.
	u.byJVM(operation{singles: 2}, operation{save: true}, operation{deleteTo: all}, operation{restart: true}, operation{singles: 1})
	u.byGo(operation{singles: 1})
	stays.j = u.j
	stays.byGo(operation{singles: 1})
	by.reads.run("verify", "--all")

	// 7. When the JVM is no longer used, a native journal costs less.
	native := []string{"--journal-table", journal + "-native", "--snapshot-table", snapshots + "-native", "--sequence-shards", "1"}
	by.prepares.run(append(native, "tables", "create")...)
	migrate := append(native, "migrate", "--from-layout", "current", "--from-table", journal, "--from-snapshot-table", snapshots,
		"--from-sequence-shards", "10", "--all")
	by.copies.run(migrate...)
	s.config.JournalTable, s.config.SnapshotTable, s.config.SequenceShards = journal+"-native", snapshots+"-native", 0
	for _, u := range []*turns{u, stays} {
		u.did("it is copied into a native journal")
		u.s, u.j = nil, s.open(t)
		u.check()
		u.byGo(operation{singles: 1}, operation{deleteTo: all}, operation{restart: true})
	}
	by.needed()
}

func TestServiceIsHandedOverFromGoToTheJVM(t *testing.T) {
	eachChosen(t, func(t *testing.T, s *service) {
		native := newService(t, dynajournal.Config{JournalTable: "orders-of-go", SnapshotTable: "orders-of-go-snapshot"}, dynajournal.TableOptions{})
		u := newTurns(t, nil, native.open(t))
		u.byGo(operation{singles: 130}, operation{save: true}, operation{deleteTo: 120}, operation{batch: 5})
		by := newRoles(t, dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable)

		// 1. Tables that the JVM can use, and a copy of the journal in them.
		by.prepares.run("--sequence-shards", "10", "tables", "create", "--shared-with-jvm")
		migrate := []string{"migrate", "--from-layout", "current", "--from-table", "orders-of-go",
			"--from-snapshot-table", "orders-of-go-snapshot", "--from-sequence-shards", "1", u.pid}
		by.copies.run(migrate...)

		// 2. Go continues in the old journal. The writers are stopped, and the new events are
		// copied and compared.
		u.byGo(operation{singles: 7}, operation{deleteTo: 132})
		by.copies.run(migrate...)
		by.copies.run(append(migrate, "--verify-only")...)

		// 3. The JVM starts the entities.
		u.did("it is copied into a shared journal")
		u.s, u.j = s, s.open(t)
		u.check()
		u.byJVM(operation{singles: 3}, operation{save: true}, operation{deleteTo: all}, operation{restart: true}, operation{singles: 1})
		u.byGo(operation{singles: 1})
		by.reads.run("verify", u.pid)
	})
}
