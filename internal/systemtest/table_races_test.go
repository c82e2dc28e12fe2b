package systemtest

import (
	"errors"
	"fmt"
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
)

// staleness has engine options for creating and changing tables: with descriptions that are up to
// date, always late, and sometimes late.
var staleness = map[string][]embedded.Option{
	"": nil,
	", descriptions are late": {
		embedded.WithFaults(embedded.Fault{Effect: embedded.EffectStaleDescription, Delay: 3 * time.Second}),
	},
	", some descriptions are late": {
		embedded.WithFaults(embedded.Fault{Effect: embedded.EffectStaleDescription, Delay: 3 * time.Second, Probability: 0.5}),
	},
}

// atOnce makes three concurrent calls, and returns their errors.
func atOnce(call func() error) error {
	var all sync.WaitGroup
	var errs [3]error
	for i := range errs {
		all.Go(func() { errs[i] = call() })
	}
	all.Wait()
	return errors.Join(errs[:]...)
}

// awaitTables waits until no description is late any more, and describes the tables.
func awaitTables(t *testing.T, config dynajournal.Config) []dynajournal.Table {
	t.Helper()
	time.Sleep(time.Minute)
	var tables []dynajournal.Table
	for range 20 { // the first description of a minute takes a new state
		var err error
		if tables, err = dynajournal.DescribeTables(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
	return tables
}

// Several processes create the same tables when they start. Each must succeed, and must be able to
// open the journal.
func TestCreateTables_ByThreeProcesses(t *testing.T) {
	t.Parallel()
	for habit, options := range staleness {
		for name, opts := range map[string]dynajournal.TableOptions{
			"native":       {Projections: true, Stream: true},
			"shared":       {SharedWithJVM: true, Projections: true, Stream: true},
			"native, bare": {},
		} {
			t.Run(name+habit, func(t *testing.T) {
				t.Parallel()
				for seed := range testsize.Of(2, 24) {
					synctest.Test(t, func(t *testing.T) {
						engine := openEngine(t, append(options, embedded.WithSeed(uint64(seed)))...)
						config := dynajournal.Config{AWS: engine.AWSConfig()}
						if err := atOnce(func() error { return dynajournal.CreateTables(t.Context(), config, opts) }); err != nil {
							t.Fatalf("round %d: %v", seed, err)
						}
						openJournal(t, config)
						tables := awaitTables(t, config)
						want := 2
						if opts.Projections {
							want++
						}
						if len(tables) != want {
							t.Fatalf("round %d: %+v", seed, tables)
						}
						journal, snapshots := tables[0], tables[1]
						if journal.TTL != "expires" || snapshots.TTL != "expires" || len(journal.Indexes) != 1 || journal.Version != map[string]int{"native": 2, "shared": 1}[journal.Kind] ||
							(journal.Kind == "shared") != opts.SharedWithJVM || (journal.Stream == "NEW_IMAGE") != opts.Stream {
							t.Errorf("round %d: %+v", seed, tables)
						}
					})
				}
			})
		}
	}
}

// Several processes update the table of a JVM. Each must succeed, and must have waited until all
// additions are complete. Each addition is reported once.
func TestUpdateTables_ByThreeProcesses(t *testing.T) {
	t.Parallel()
	for habit, options := range staleness {
		t.Run("update"+habit, func(t *testing.T) {
			t.Parallel()
			for seed := range testsize.Of(2, 24) {
				synctest.Test(t, func(t *testing.T) {
					engine := openEngine(t, append(options, embedded.WithSeed(uint64(seed)))...)
					config := dynajournal.Config{AWS: engine.AWSConfig()}
					makeTable(t, engine, "num")
					time.Sleep(time.Minute)
					added := map[string]int{}
					var lock sync.Mutex
					err := atOnce(func() error {
						changes, err := dynajournal.UpdateTables(t.Context(), config, dynajournal.UpdateOptions{Projections: true, Stream: true})
						lock.Lock()
						defer lock.Unlock()
						for _, change := range changes {
							added[change.Table+" "+change.Added]++
						}
						return err
					})
					if err != nil {
						t.Fatalf("round %d: %v", seed, err)
					}
					tables := awaitTables(t, config)
					if len(tables) != 2 || tables[0].TTL != "expires" || tables[0].Stream != "NEW_IMAGE" || len(tables[0].Indexes) != 1 ||
						tables[0].Indexes[0].Status != "ACTIVE" || len(added) != 4 {
						t.Errorf("round %d: %+v, added %v", seed, tables, added)
					}
					for what, times := range added {
						if times != 1 {
							t.Errorf("round %d: %s is reported %d times", seed, what, times)
						}
					}
				})
			}
		})
	}
}

// makeTable creates the journal table like a JVM, without an index.
func makeTable(t *testing.T, engine *embedded.Engine, rangeKey string) {
	t.Helper()
	_, err := dynamodb.NewFromConfig(engine.AWSConfig()).CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(dynajournal.DefaultJournalTable), BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("par"), KeyType: types.KeyTypeHash}, {AttributeName: &rangeKey, KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("par"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: &rangeKey, AttributeType: types.ScalarAttributeTypeN},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A new table with the name of a deleted table must not be confused with the deleted table, which
// is still described.
func TestCreateTables_AfterTheTablesWereDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := openEngine(t, staleness[", descriptions are late"]...)
		config := dynajournal.Config{AWS: engine.AWSConfig()}
		makeTable(t, engine, "other")
		time.Sleep(time.Minute)
		direct := dynamodb.NewFromConfig(engine.AWSConfig())
		table := aws.String(dynajournal.DefaultJournalTable)
		if _, err := direct.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: table}); err != nil {
			t.Fatal(err)
		}
		if _, err := direct.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: table}); err != nil {
			t.Fatal(err)
		}
		createTables(t, config, dynajournal.TableOptions{})
		openJournal(t, config)
		if deleted, err := dynajournal.DeleteTables(t.Context(), config); err != nil || len(deleted) != 2 {
			t.Error(fmt.Sprint(deleted), err)
		}
	})
}
