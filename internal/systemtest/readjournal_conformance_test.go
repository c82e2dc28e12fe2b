package systemtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/journaltest"
)

// fastPoll makes tests of live queries fast.
var fastPoll = dynajournal.Poll{Shortest: time.Millisecond, Longest: 5 * time.Millisecond}

// waysOfListing returns the ways to list the ids of any journal.
func waysOfListing(j *dynajournal.Journal) []journaltest.Way {
	return []journaltest.Way{
		{Name: "by index", Read: journaltest.AdaptReadJournal(j, dynajournal.IDsOptions{}, fastPoll)},
		{Name: "by scan", Read: journaltest.AdaptReadJournal(j, dynajournal.IDsOptions{Scan: true}, fastPoll)},
		{Name: "by scan of 4 segments", Read: journaltest.AdaptReadJournal(j, dynajournal.IDsOptions{Scan: true, Segments: 4}, fastPoll), Unordered: true},
	}
}

// pluginIndex returns the ids index of a JVM's table. rng is its range key, or empty.
func pluginIndex(rng string) types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{
		IndexName:  aws.String(dynajournal.DefaultIDsIndexName),
		KeySchema:  keysOf("num", rng),
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
	}
}

func keysOf(hash, rng string) []types.KeySchemaElement {
	schema := []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}}
	if rng != "" {
		schema = append(schema, types.KeySchemaElement{AttributeName: &rng, KeyType: types.KeyTypeRange})
	}
	return schema
}

// createPlainTable creates a journal table without a header, like the administrator of a JVM
// service.
func createPlainTable(tb testing.TB, config dynajournal.Config, indexes ...types.GlobalSecondaryIndex) {
	tb.Helper()
	definitions := []types.AttributeDefinition{
		{AttributeName: aws.String("par"), AttributeType: types.ScalarAttributeTypeS},
		{AttributeName: aws.String("num"), AttributeType: types.ScalarAttributeTypeN},
	}
	for i := range indexes {
		for _, k := range indexes[i].KeySchema {
			if name := aws.ToString(k.AttributeName); name != "par" && name != "num" {
				definitions = append(definitions, types.AttributeDefinition{AttributeName: k.AttributeName, AttributeType: types.ScalarAttributeTypeS})
			}
		}
	}
	if _, err := dynamodb.NewFromConfig(config.AWS).CreateTable(tb.Context(), &dynamodb.CreateTableInput{
		TableName:              aws.String(dynajournal.DefaultJournalTable),
		BillingMode:            types.BillingModePayPerRequest,
		KeySchema:              keysOf("par", "num"),
		AttributeDefinitions:   definitions,
		GlobalSecondaryIndexes: indexes,
	}); err != nil {
		tb.Fatalf("create a table: %v", err)
	}
}

func TestReadJournalConforms(t *testing.T) {
	t.Parallel()
	type variant struct {
		transport string
		shards    int64
		many      int
		native    bool
		create    func(testing.TB, dynajournal.Config)
		config    dynajournal.Config
	}
	native := func(tb testing.TB, config dynajournal.Config) {
		tb.Helper()
		createTables(tb, config, dynajournal.TableOptions{})
	}
	shared := func(tb testing.TB, config dynajournal.Config) {
		tb.Helper()
		createTables(tb, config, dynajournal.TableOptions{SharedWithJVM: true})
	}
	variants := map[string]variant{
		"with a range key in the index": {"in process", 10, 500, false, func(tb testing.TB, config dynajournal.Config) {
			tb.Helper()
			createPlainTable(tb, config, pluginIndex("par"))
		}, dynajournal.Config{}},
		"without an index": {"in process", 10, 500, false, func(tb testing.TB, config dynajournal.Config) {
			tb.Helper()
			createPlainTable(tb, config)
		}, dynajournal.Config{}},
		"native in process": {"in process", 1, testsize.Of(120, 10_000), true, native, dynajournal.Config{}},
		"native over HTTP":  {"over HTTP", 1, 500, true, native, dynajournal.Config{}},
		"shared in process": {"in process", 10, testsize.Of(120, 1000), false, shared, dynajournal.Config{}},
		"shared over HTTP":  {"over HTTP", 10, 500, false, shared, dynajournal.Config{}},
	}
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			skipVariant(t, name)
			t.Parallel()
			skipped := map[string]string{}
			if v.native {
				skipped["a live query passes over holes"] = "a hole in a native journal is an error"
			}
			journaltest.RunReadJournal(t, journaltest.ReadJournalSuite{
				Open: func(tb testing.TB) journaltest.ReadStore {
					tb.Helper()
					config := v.config
					config.HoleWait = 50 * time.Millisecond
					config.AWS = transports[v.transport](tb, openEngine(tb))
					v.create(tb, config)
					return journaltest.ReadStore{
						Connect: func(tb testing.TB, journalName string) journaltest.ReadSide {
							tb.Helper()
							config := config
							if config.JournalName = journalName; v.native && journalName != journaltest.DefaultName {
								// writes its header
								createTables(tb, config, dynajournal.TableOptions{})
							}
							j := openJournal(tb, config)
							return journaltest.ReadSide{Journal: journaltest.Adapt(j), Ways: waysOfListing(j)}
						},
						Table: &journaltest.Table{
							Client: dynamodb.NewFromConfig(config.AWS), Name: dynajournal.DefaultJournalTable, JournalName: journaltest.DefaultName, Shards: v.shards,
						},
					}
				},
				Many: v.many, Skip: skipped,
			})
		})
	}
}

// listIDs lists persistence ids.
func listIDs(tb testing.TB, j *dynajournal.Journal, opts dynajournal.IDsOptions) []string {
	tb.Helper()
	var found []string
	for pid, err := range j.CurrentPersistenceIDs(tb.Context(), opts) {
		if err != nil {
			tb.Fatalf("list the ids %+v: after %q: %v", opts, found, err)
		}
		found = append(found, pid)
	}
	return found
}

// writeFirst writes one event for each id.
func writeFirst(tb testing.TB, j *dynajournal.Journal, pids ...string) {
	tb.Helper()
	for _, pid := range pids {
		w, err := j.Recover(tb.Context(), pid, dynajournal.RecoverOptions{}, nil)
		if err == nil {
			_, err = w.Append(tb.Context(), "first")
		}
		if err != nil {
			tb.Fatalf("write to %q: %v", pid, err)
		}
	}
}

func deleteTo(tb testing.TB, j *dynajournal.Journal, pid string, seq int64) {
	tb.Helper()
	w, err := j.Recover(tb.Context(), pid, dynajournal.RecoverOptions{}, nil)
	if err == nil {
		_, err = w.DeleteTo(tb.Context(), seq)
	}
	if err != nil {
		tb.Fatalf("delete from %q: %v", pid, err)
	}
}

// listError lists ids, and returns their number and the final error.
func listError(ctx context.Context, j *dynajournal.Journal, opts dynajournal.IDsOptions) (int, error) {
	n := 0
	for _, err := range j.CurrentPersistenceIDs(ctx, opts) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// If the index cannot be used, the listing must fail, and not leave out ids.
func TestIndexThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	plain := func(indexes ...types.GlobalSecondaryIndex) func(*testing.T, dynajournal.Config) {
		return func(t *testing.T, config dynajournal.Config) {
			t.Helper()
			createPlainTable(t, config, indexes...)
		}
	}
	made := func(options dynajournal.TableOptions) func(*testing.T, dynajournal.Config) {
		return func(t *testing.T, config dynajournal.Config) {
			t.Helper()
			createTables(t, config, options)
		}
	}
	index := func(name, hash, rng string) types.GlobalSecondaryIndex {
		i := pluginIndex("")
		i.IndexName, i.KeySchema = &name, keysOf(hash, rng)
		return i
	}
	// described changes the response of DescribeTable.
	described := func(old, new string) func(dynajournal.Config) dynajournal.Config {
		return func(config dynajournal.Config) dynajournal.Config {
			return relayed(config, func(operation string, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				out, err := send()
				if err != nil || operation != "DescribeTable" {
					return out, err
				}
				body, err := io.ReadAll(out.Body)
				if err != nil {
					return nil, err
				}
				if !strings.Contains(string(body), old) {
					return nil, fmt.Errorf("there is no %s in %s", old, body)
				}
				return answerOf(r, http.StatusOK, strings.ReplaceAll(string(body), old, new)), out.Body.Close()
			})
		}
	}
	as := func(config dynajournal.Config) dynajournal.Config { return config }
	const active, creating = `"IndexStatus":"ACTIVE"`, `"IndexStatus":"CREATING","Backfilling":true`
	for name, c := range map[string]struct {
		create func(*testing.T, dynajournal.Config)
		config func(dynajournal.Config) dynajournal.Config
	}{
		"native, still being filled":     {made(dynajournal.TableOptions{}), described(active, creating)},
		"shared, still being filled":     {made(dynajournal.TableOptions{SharedWithJVM: true}), described(active, creating)},
		"active, but still being filled": {made(dynajournal.TableOptions{}), described(active, active+`,"Backfilling":true`)},
		"shared, being removed":          {made(dynajournal.TableOptions{SharedWithJVM: true}), described(active, `"IndexStatus":"DELETING"`)},
		"with another hash key":          {plain(index(dynajournal.DefaultIDsIndexName, "writer_uuid", "")), as},
		"with another range key":         {plain(index(dynajournal.DefaultIDsIndexName, "num", "writer_uuid")), as},
		"none of the configured name": {plain(pluginIndex("")), func(config dynajournal.Config) dynajournal.Config {
			config.IDsIndexName = "another"
			return config
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
			c.create(t, config)
			j := openJournal(t, c.config(config))
			writeFirst(t, j, "a")
			n, err := listError(t.Context(), j, dynajournal.IDsOptions{})
			if !errors.Is(err, dynajournal.ErrIndex) || n != 0 {
				t.Errorf("listed %d ids, error %v, want ErrIndex", n, err)
			}
			for _, err := range j.PersistenceIDs(t.Context(), dynajournal.IDsOptions{}, fastPoll) {
				if !errors.Is(err, dynajournal.ErrIndex) {
					t.Errorf("the live listing gave error %v, want ErrIndex", err)
				}
				break
			}
			if got := listIDs(t, j, dynajournal.IDsOptions{Scan: true}); !slices.Equal(got, []string{"a"}) {
				t.Errorf("by scan are listed %q", got)
			}
		})
	}
}

// Every listing handles an index that is removed and created again while the journal is open.
func TestIndexThatComesAndGoes(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createPlainTable(t, config, pluginIndex("par"))
	j := openJournal(t, config)
	writeFirst(t, j, "a", "b")
	client, table := dynamodb.NewFromConfig(config.AWS), aws.String(dynajournal.DefaultJournalTable)
	change := func(update types.GlobalSecondaryIndexUpdate) {
		t.Helper()
		if _, err := client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
			TableName: table, GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{update},
			AttributeDefinitions: []types.AttributeDefinition{
				{AttributeName: aws.String("par"), AttributeType: types.ScalarAttributeTypeS},
				{AttributeName: aws.String("num"), AttributeType: types.ScalarAttributeTypeN},
			},
		}); err != nil {
			t.Fatal(err)
		}
		for status := types.IndexStatusUpdating; status != types.IndexStatusActive; {
			out, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: table})
			if err != nil {
				t.Fatal(err)
			}
			status = types.IndexStatusActive
			for _, index := range out.Table.GlobalSecondaryIndexes {
				status = index.IndexStatus
			}
		}
	}
	index := pluginIndex("par")
	for _, c := range []struct {
		what   string
		change func()
	}{
		{"with the index", func() {}},
		{"with the index again", func() {}},
		{"without", func() {
			change(types.GlobalSecondaryIndexUpdate{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: index.IndexName}})
		}},
		{"with one made anew", func() {
			change(types.GlobalSecondaryIndexUpdate{Create: &types.CreateGlobalSecondaryIndexAction{
				IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection,
			}})
		}},
	} {
		c.change()
		for _, opts := range []dynajournal.IDsOptions{{Sorted: true}, {}} {
			got := listIDs(t, j, opts)
			slices.Sort(got)
			if !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("%s are listed %q", c.what, got)
			}
		}
	}
}

// A listing uses an index with the configured name. Without an index of the default name, it scans.
func TestIndexOfAnotherName(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	index := pluginIndex("par")
	index.IndexName = aws.String("another")
	createPlainTable(t, config, index)
	writeFirst(t, openJournal(t, config), "a", "b")
	scans := 0
	counted := relayed(config, func(operation string, _ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if operation == "Scan" {
			scans++
		}
		return send()
	})
	listIDs(t, openJournal(t, counted), dynajournal.IDsOptions{})
	if scans == 0 {
		t.Error("without an index there was no scan")
	}
	scans = 0
	counted.IDsIndexName = "another"
	if got := listIDs(t, openJournal(t, counted), dynajournal.IDsOptions{}); scans > 0 || !slices.Equal(slices.Sorted(slices.Values(got)), []string{"a", "b"}) {
		t.Errorf("listed are %q with %d scans, want a and b with none", got, scans)
	}
}

// UpdateTables adds the index and TTL to a table without them, and fills the index from the stored
// items. A second call changes nothing.
func TestUpdateTablesAddsWhatIsMissing(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
			client := dynamodb.NewFromConfig(config.AWS)
			if kind == "native" {
				createTables(t, config, dynajournal.TableOptions{})
			} else {
				createPlainTable(t, config)
			}
			j := openJournal(t, config)
			want := []string{"all", "deleted", "first", "long"}
			writeFirst(t, j, want...)
			appendStrings(t, recoverWriter(t, j, "long", 0), 150, true)
			appendStrings(t, recoverWriter(t, j, "deleted", 0), 3, false)
			deleteTo(t, j, "deleted", 2)
			deleteTo(t, j, "all", 9)
			if kind == "native" { // its index and TTL are lost
				if _, err := client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
					TableName: aws.String(dynajournal.DefaultJournalTable),
					GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{
						{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String("ids-idx")}},
					},
				}); err != nil {
					t.Fatal(err)
				}
				if _, err := client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
					TableName:               aws.String(dynajournal.DefaultJournalTable),
					TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: aws.Bool(false)},
				}); err != nil {
					t.Fatal(err)
				}
			}
			for _, sorted := range []bool{true, false} { // by scan
				if got := listIDs(t, j, dynajournal.IDsOptions{Sorted: sorted}); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
					t.Errorf("without an index are listed %q, want %q", got, want)
				}
			}
			changes, err := dynajournal.UpdateTables(t.Context(), config, dynajournal.UpdateOptions{})
			if err != nil || len(changes) != 2 {
				t.Fatalf("added were %+v, error %v, want index and expiry", changes, err)
			}
			for _, c := range changes {
				if c.Table != dynajournal.DefaultJournalTable || c.Added == "" || c.Costs == "" {
					t.Errorf("the change %+v does not name the addition and its cost", c)
				}
			}
			if changes, err = dynajournal.UpdateTables(t.Context(), config, dynajournal.UpdateOptions{}); err != nil || len(changes) != 0 {
				t.Errorf("the second time were added %+v, error %v", changes, err)
			}
			writeFirst(t, j, "new")
			scans := 0
			j = openJournal(t, relayed(config, func(operation string, _ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				if operation == "Scan" {
					scans++
				}
				return send()
			}))
			got := listIDs(t, j, dynajournal.IDsOptions{})
			if slices.Sort(got); !slices.Equal(got, append(want, "new")) || scans != 0 {
				t.Errorf("by the new index are listed %q with %d scans, want %q", got, scans, append(want, "new"))
			}
			tables, err := dynajournal.DescribeTables(t.Context(), config)
			if err != nil || len(tables) == 0 || tables[0].TTL != "expires" || len(tables[0].Indexes) != 1 {
				t.Errorf("the tables are %+v, error %v", tables, err)
			}
		})
	}
}

// Every way lists ids after the tombstones of their first events have expired. A purged id is not
// listed: only its low mark is left in a native journal, and nothing in a shared one.
func TestIDsWhenTombstonesHaveExpired(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		for _, shards := range []int{0, 3} {
			if shards > 1 && !options.SharedWithJVM {
				continue // a native journal has one shard
			}
			t.Run(fmt.Sprintf("%s, %d shards", kind, shards), func(t *testing.T) {
				t.Parallel()
				var late atomic.Bool
				engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0), embedded.WithClock(func() time.Time {
					if late.Load() {
						return time.Now().Add(1000 * time.Hour)
					}
					return time.Now()
				}))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := engine.Close(); err != nil {
						t.Error(err)
					}
				})
				config := dynajournal.Config{AWS: engine.AWSConfig(), SequenceShards: shards}
				createTables(t, config, options)
				j := openJournal(t, config)
				writeFirst(t, j, "all", "first", "long", "purged", "purged long", "untouched")
				deleteTo(t, j, "all", 1)
				for _, pid := range []string{"long", "purged long"} {
					appendStrings(t, recoverWriter(t, j, pid, 0), 304, true)
					for _, to := range []int64{1, 99, 150, 250, 305} {
						deleteTo(t, j, pid, to)
					}
				}
				for _, pid := range []string{"purged", "purged long"} {
					if _, err := recoverWriter(t, j, pid, 0).Purge(t.Context(), dynajournal.PurgeOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				want := []string{"all", "first", "long", "untouched"}
				check := func(when string) {
					t.Helper()
					for _, opts := range []dynajournal.IDsOptions{{}, {Sorted: true}, {Scan: true}, {Scan: true, Segments: 3}} {
						if got := listIDs(t, j, opts); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
							t.Errorf("%s, %+v: listed are %q, want %q", when, opts, got, want)
						}
					}
				}
				check("with tombstones")
				late.Store(true)
				if _, err := engine.SweepExpired(); err != nil {
					t.Fatal(err)
				}
				check("without tombstones")
				client := dynamodb.NewFromConfig(config.AWS)
				out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(dynajournal.DefaultJournalTable)})
				if err != nil {
					t.Fatal(err)
				}
				for _, item := range out.Items {
					par, ok := item["par"].(*types.AttributeValueMemberS)
					// In a native journal the marks stay.
					mark := ok && !options.SharedWithJVM && !strings.Contains(par.Value, "-P-")
					if !ok || strings.Contains(par.Value, "purged") && !mark {
						t.Errorf("of a purged id is left %v", item)
					}
				}
			})
		}
	}
}

// The listing of the plug-in's data, including ids that the plug-in itself misses.
func TestGoldenIDs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		// beta's first event is deleted
		"ids":      {"alpha", "beta", "beta-2", "delta", "gamma", "hundred"},
		"odd-pids": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := loadScenario(t, filepath.Join("testdata", "golden", "pekko-1.1.0", name+".json"))
			if want == nil {
				want = slices.Sorted(slices.Values(s.pids()))
			}
			for _, opts := range []dynajournal.IDsOptions{{}, {Sorted: true}, {Scan: true}, {Scan: true, Segments: 3}} {
				if got := listIDs(t, s.journal, opts); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
					t.Errorf("%+v: listed are %q, want %q", opts, got, want)
				}
			}
		})
	}
}

// In the keys of the sparse index, the journal's name ends with a NUL.
func TestJournalNameWithNULIsRefused(t *testing.T) {
	t.Parallel()
	err := dynajournal.CreateTables(t.Context(), dynajournal.Config{AWS: openEngine(t).AWSConfig(), JournalName: "a\x00b"}, dynajournal.TableOptions{})
	if !errors.Is(err, dynajournal.ErrInvalidArgument) {
		t.Errorf("got %v, want ErrInvalidArgument", err)
	}
}

// The body of a loop over ids runs on the caller's goroutine, so the caller can recover from a
// panic in it.
func TestLoopOverIDsRunsOnTheCallersGoroutine(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, config, dynajournal.TableOptions{})
	j := openJournal(t, config)
	writeFirst(t, j, "a")
	for _, opts := range []dynajournal.IDsOptions{{}, {Scan: true}, {Scan: true, Segments: 3}} {
		for range j.CurrentPersistenceIDs(t.Context(), opts) {
			stack := make([]byte, 64<<10)
			if !strings.Contains(string(stack[:runtime.Stack(stack, false)]), "testing.tRunner") {
				t.Errorf("%+v: the body of the loop runs on another goroutine", opts)
			}
		}
	}
}

// Each segment of a scan is a goroutine with a request in flight, so their number is bounded.
func TestListingInTooManySegmentsIsRefused(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, config, dynajournal.TableOptions{})
	j := openJournal(t, config)
	for _, segments := range []int{-1, 1001, 1 << 40} {
		if _, err := listError(t.Context(), j, dynajournal.IDsOptions{Scan: true, Segments: segments}); !errors.Is(err, dynajournal.ErrInvalidArgument) {
			t.Errorf("%d segments gave error %v, want ErrInvalidArgument", segments, err)
		}
	}
}

// troubles are failures that a live query must survive.
var troubles = map[string]func(r *http.Request) (*http.Response, error){
	"throttling": func(r *http.Request) (*http.Response, error) {
		return failure(r, "ProvisionedThroughputExceededException"), nil
	},
	"too many requests": func(r *http.Request) (*http.Response, error) { return failure(r, "RequestLimitExceeded"), nil },
	"internal errors": func(r *http.Request) (*http.Response, error) {
		return answerOf(r, http.StatusInternalServerError, `{"__type":"InternalServerError"}`), nil
	},
	"lost connections": func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
	"answers of a proxy": func(r *http.Request) (*http.Response, error) {
		return answerOf(r, http.StatusBadGateway, "<html>"), nil
	},
	"answers cut in half": func(r *http.Request) (*http.Response, error) {
		return answerOf(r, http.StatusOK, `{"Items":[{"par`), nil
	},
}

// Live queries return everything once, even if requests fail at random and are not retried.
func TestLiveQueriesContinueAfterFailures(t *testing.T) {
	t.Parallel()
	for name, trouble := range troubles {
		for kind, options := range kinds {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
				createTables(t, config, options)
				writer := openJournal(t, config)
				var opened atomic.Bool
				var n atomic.Uint64
				config.Retries = -1
				j := openJournal(t, relayed(config, func(_ string, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
					const one, in = 1, 8
					if rand.New(rand.NewPCG(n.Add(1), 0)).IntN(in) < one && opened.Load() {
						return trouble(r)
					}
					return send()
				}))
				opened.Store(true)
				w := recoverWriter(t, writer, "a", 0)
				const rounds, batch = 20, 7
				next := int64(1)
				appendStrings(t, w, batch, true)
				for e, err := range j.EventsByPersistenceID(t.Context(), "a", 0, rounds*batch, fastPoll) {
					if err != nil {
						t.Fatalf("after %d events: %v", next-1, err)
					}
					if e.Offset != next || e.SequenceNumber != next {
						t.Fatalf("event %d with offset %d came, want %d", e.SequenceNumber, e.Offset, next)
					}
					if next++; next%batch == 1 && next < rounds*batch {
						appendStrings(t, w, batch, true)
						writeFirst(t, writer, fmt.Sprintf("b%d", next))
					}
				}
				if next != rounds*batch+1 {
					t.Errorf("%d events came, want %d", next-1, rounds*batch)
				}
				seen := map[string]bool{}
				for pid, err := range j.PersistenceIDs(t.Context(), dynajournal.IDsOptions{Limit: rounds}, fastPoll) {
					if err != nil {
						t.Fatalf("after %d ids: %v", len(seen), err)
					}
					if seen[pid] {
						t.Errorf("%q came twice", pid)
					}
					seen[pid] = true
				}
				if len(seen) != rounds {
					t.Errorf("%d ids came, want %d", len(seen), rounds)
				}
			})
		}
	}
}

// polled runs a live query whose first event arrives after a number of polls, in a bubble. It
// returns the pauses between the polls.
func polled(t *testing.T, config dynajournal.Config, poll dynajournal.Poll, polls int, trouble func(n int, r *http.Request) (*http.Response, error)) []time.Duration {
	t.Helper()
	// The bubble only reads. before and after have the table at two times.
	before, after := openEngine(t), openEngine(t)
	for _, engine := range []*embedded.Engine{before, after} {
		createTables(t, dynajournal.Config{AWS: engine.AWSConfig()}, dynajournal.TableOptions{})
	}
	writeFirst(t, openJournal(t, dynajournal.Config{AWS: after.AWSConfig()}), "a")
	var pauses []time.Duration
	synctest.Test(t, func(t *testing.T) {
		config.AWS = before.AWSConfig()
		engines := map[bool]aws.HTTPClient{false: config.AWS.HTTPClient, true: after.AWSConfig().HTTPClient}
		var mu sync.Mutex
		var times []time.Time
		opened := false
		j := openJournal(t, relayed(config, func(_ string, r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
			mu.Lock()
			if now := time.Now(); opened && (len(times) == 0 || !times[len(times)-1].Equal(now)) {
				times = append(times, now)
			}
			n := len(times)
			mu.Unlock()
			if opened && trouble != nil {
				if out, err := trouble(n, r); out != nil || err != nil {
					return out, err
				}
			}
			return engines[n > polls].Do(r)
		}))
		opened = true
		for e, err := range j.EventsByPersistenceID(t.Context(), "a", 0, 1, poll) {
			if err != nil || e.SequenceNumber != 1 {
				t.Errorf("came event %d, error %v", e.SequenceNumber, err)
			}
		}
		for i := range times[1:] {
			pauses = append(pauses, times[i+1].Sub(times[i]))
		}
	})
	return pauses
}

// While no events arrive, the pauses of a live query grow to their limit.
func TestPausesOfALiveQueryGrowToTheirLimit(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		poll dynajournal.Poll
		want []time.Duration
	}{
		"by default":    {dynajournal.Poll{}, []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3000 * ms, 3000 * ms}},
		"as configured": {dynajournal.Poll{Shortest: 10 * ms, Longest: 25 * ms}, []time.Duration{10 * ms, 20 * ms, 25 * ms, 25 * ms}},
		"all as long":   {dynajournal.Poll{Shortest: 7 * ms, Longest: 7 * ms}, []time.Duration{7 * ms, 7 * ms, 7 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := polled(t, dynajournal.Config{}, c.poll, len(c.want), nil); !slices.Equal(got, c.want) {
				t.Errorf("the pauses are %v, want %v", got, c.want)
			}
		})
	}
}

// An outage in which requests hang until their timeout and the operation's timeout only delays a
// live query.
func TestLiveQueryContinuesAfterHangingRequests(t *testing.T) {
	t.Parallel()
	const last = 10
	polled(t, dynajournal.Config{}, dynajournal.Poll{}, last, func(n int, r *http.Request) (*http.Response, error) {
		if n > 1 && n < last {
			<-r.Context().Done()
			return nil, context.Cause(r.Context())
		}
		return nil, nil //nolint:nilnil // no trouble
	})
}

// A query that has found events polls again at once. It pauses only after a poll without events.
func TestLiveQuery_NoPauseDuringBacklog(t *testing.T) {
	t.Parallel()
	engine := openEngine(t)
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	createTables(t, config, dynajournal.TableOptions{})
	appendStrings(t, recoverWriter(t, openJournal(t, config), "a", 0), 250, true)
	synctest.Test(t, func(t *testing.T) {
		j := openJournal(t, config)
		start, next := time.Now(), int64(1)
		for e, err := range j.EventsByPersistenceID(t.Context(), "a", 0, 250, dynajournal.Poll{}) {
			if err != nil || e.Offset != next {
				t.Fatalf("came event %d, error %v, want %d", e.Offset, err, next)
			}
			next++
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("it paused for %v", took)
		}
	})
}

// A live query ends when its journal is closed or its context ends, both in a pause and in a
// request.
func TestLiveQueriesEnd(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, config, dynajournal.TableOptions{})
	writeFirst(t, openJournal(t, config), "a")
	queries := map[string]func(context.Context, *dynajournal.Journal) error{
		"events": func(ctx context.Context, j *dynajournal.Journal) error {
			for _, err := range j.EventsByPersistenceID(ctx, "a", 0, 0, dynajournal.Poll{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"ids": func(ctx context.Context, j *dynajournal.Journal) error {
			for _, err := range j.PersistenceIDs(ctx, dynajournal.IDsOptions{}, dynajournal.Poll{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"ids by scan": func(ctx context.Context, j *dynajournal.Journal) error {
			for _, err := range j.PersistenceIDs(ctx, dynajournal.IDsOptions{Scan: true}, dynajournal.Poll{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	gone := errors.New("the test has seen enough")
	for name, query := range queries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := openJournal(t, config)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(10*time.Second, func() { cancel(gone) })
				if err := query(ctx, j); !errors.Is(err, gone) {
					t.Errorf("ended by its context it gave %v", err)
				}
				if err := query(ctx, j); !errors.Is(err, gone) {
					t.Errorf("begun with a context that has ended it gave %v", err)
				}
				time.AfterFunc(10*time.Second, func() { _ = j.Close() })
				if err := query(t.Context(), j); !errors.Is(err, dynajournal.ErrClosed) {
					t.Errorf("ended by Close it gave %v, want ErrClosed", err)
				}
			})
		})
	}
}

// A negative pause is refused, because it would make a loop of requests without pauses.
func TestNegativePauseIsRefused(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, config, dynajournal.TableOptions{})
	for _, poll := range []dynajournal.Poll{{Shortest: -1}, {Longest: -1}, {Shortest: time.Hour, Longest: time.Second}} {
		ctx, cancel := context.WithCancel(t.Context())
		var n atomic.Int64
		j := openJournal(t, relayed(config, func(_ string, _ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			if n.Add(1) > 20 {
				cancel()
			}
			return send()
		}))
		check := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, dynajournal.ErrInvalidArgument) {
				t.Errorf("%s with %+v gave error %v, want ErrInvalidArgument", what, poll, err)
			}
		}
		var got error
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, err := range j.EventsByPersistenceID(ctx, "a", 0, 0, poll) {
				got = err
			}
		}()
		guard := time.AfterFunc(time.Second, cancel)
		<-done
		guard.Stop()
		check("a live query", got)
		got = nil
		for _, err := range j.PersistenceIDs(ctx, dynajournal.IDsOptions{}, poll) {
			got = err
		}
		check("a live listing", got)
		cancel()
	}
}

// Throttled pages of a listing are requested again. No id may be lost.
func TestListingContinuesAfterThrottling(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
			createTables(t, config, options)
			var want []string
			for i := range 30 {
				want = append(want, fmt.Sprintf("a%02d", i))
			}
			writer := openJournal(t, config)
			writeFirst(t, writer, want...)
			for _, pid := range want[:10] {
				deleteTo(t, writer, pid, 1)
			}
			config.BackoffBase, config.BackoffCap = time.Microsecond, time.Microsecond
			for _, opts := range []dynajournal.IDsOptions{{}, {Scan: true}, {Scan: true, Segments: 5}} {
				tries := triesOfEach(t)
				j := openJournal(t, relayed(config, func(_ string, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
					throttled := tries(r)%3 != 0
					if throttled {
						return failure(r, "ProvisionedThroughputExceededException"), nil
					}
					return send()
				}))
				if got := listIDs(t, j, opts); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
					t.Errorf("%+v: listed are %q, want %q", opts, got, want)
				}
			}
		})
	}
}

// An error in the middle of a listing ends the listing and is returned, so the listing does not
// look complete.
func TestListingThatFailsReturnsAnError(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig(), Retries: -1}
			createTables(t, config, options)
			writeFirst(t, openJournal(t, config), "a", "b", "c")
			for _, opts := range []dynajournal.IDsOptions{{}, {Sorted: true}, {Scan: true}, {Scan: true, Segments: 5}} {
				for at := int64(1); ; at++ {
					var n atomic.Int64
					j := openJournal(t, relayed(config, func(operation string, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
						if (operation == "Query" || operation == "Scan") && n.Add(1) == at {
							return failure(r, "AccessDeniedException"), nil
						}
						return send()
					}))
					listed, err := listError(t.Context(), j, opts)
					if n.Load() < at {
						break
					}
					if !errors.Is(err, dynajournal.ErrDenied) {
						t.Errorf("%+v, denied at page %d: %d ids, error %v, want ErrDenied", opts, at, listed, err)
					}
				}
			}
		})
	}
}
