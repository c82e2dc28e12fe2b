package systemtest

import (
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/journaltest"
)

// transports are the ways to an engine.
var transports = map[string]func(testing.TB, *embedded.Engine) aws.Config{
	"in process": func(_ testing.TB, engine *embedded.Engine) aws.Config { return engine.AWSConfig() },
	"over HTTP": func(tb testing.TB, engine *embedded.Engine) aws.Config {
		tb.Helper()
		server := httptest.NewServer(engine)
		tb.Cleanup(server.Close)
		config := engine.AWSConfig()
		config.HTTPClient, config.BaseEndpoint = nil, &server.URL
		return config
	},
}

// kinds are the kinds of journals.
var kinds = map[string]dynajournal.TableOptions{
	"native": {},
	"shared": {SharedWithJVM: true},
}

// standsForAll skips the variants of a suite that others stand for: by default, and under the race
// detector, which takes ten times as long. Both kinds are left, and under the race detector both
// transports. Every variant runs with the build tag long and without the race detector.
func standsForAll(t *testing.T, variant string) {
	t.Helper()
	standing := []string{"native in process", "shared in process", "small items"}
	if underRace {
		standing[1] = "shared over HTTP"
	}
	if (underRace || !testsize.Long) && !slices.Contains(standing, variant) {
		t.Skip("skipped: this variant runs with the build tag long, without the race detector")
	}
}

func TestJournalConforms(t *testing.T) {
	t.Parallel()
	for transport, connect := range transports {
		for kind, options := range kinds {
			t.Run(kind+" "+transport, func(t *testing.T) {
				standsForAll(t, kind+" "+transport)
				t.Parallel()
				journaltest.Run(t, journalSuite(options, func(tb testing.TB) dynajournal.Config {
					tb.Helper()
					return dynajournal.Config{AWS: connect(tb, openEngine(tb))}
				}))
			})
		}
	}
}

// journalSuite is the suite of a kind of journal; configure says where one without tables is.
func journalSuite(options dynajournal.TableOptions, configure func(testing.TB) dynajournal.Config) journaltest.Suite {
	return journaltest.Suite{
		Open: func(tb testing.TB) journaltest.Store {
			tb.Helper()
			return store(tb, configure(tb), options)
		},
		LargestEvent:  func(pid string, seq int64) int { return largestEvent(pid, seq, !options.SharedWithJVM) },
		PurgeRestarts: options.SharedWithJVM,
	}
}

// TestEnvelopedJournalConforms runs the suite for events in the form of Akka 1.1. What the suite plants is in today's form, so
// both stand side by side.
func TestEnvelopedJournalConforms(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			standsForAll(t, "enveloped "+kind)
			t.Parallel()
			suite := journalSuite(options, func(tb testing.TB) dynajournal.Config {
				tb.Helper()
				return dynajournal.Config{AWS: openEngine(tb).AWSConfig(), OldEventFormat: true}
			})
			suite.LargestEvent = func(pid string, seq int64) int { return largestEnveloped(pid, seq, !options.SharedWithJVM) }
			journaltest.Run(t, suite)
		})
	}
}

// openEngine opens an empty engine.
func openEngine(tb testing.TB, options ...embedded.Option) *embedded.Engine {
	tb.Helper()
	engine, err := embedded.OpenMemory(options...)
	if err != nil {
		tb.Fatalf("open an engine: %v", err)
	}
	tb.Cleanup(func() {
		if err := engine.Close(); err != nil {
			tb.Errorf("close the engine: %v", err)
		}
	})
	return engine
}

// openJournal opens a journal whose tables exist.
func openJournal(tb testing.TB, config dynajournal.Config) *dynajournal.Journal {
	tb.Helper()
	j, err := dynajournal.Open(tb.Context(), config)
	if err != nil {
		tb.Fatalf("open a journal: %v", err)
	}
	tb.Cleanup(func() {
		if err := j.Close(); err != nil {
			tb.Errorf("close the journal: %v", err)
		}
	})
	return j
}

// createTables makes the tables of a journal.
func createTables(tb testing.TB, config dynajournal.Config, options dynajournal.TableOptions) {
	tb.Helper()
	if err := dynajournal.CreateTables(tb.Context(), config, options); err != nil {
		tb.Fatalf("create the tables: %v", err)
	}
}

// store makes the tables of a journal, for the suite.
func store(tb testing.TB, config dynajournal.Config, options dynajournal.TableOptions) journaltest.Store {
	tb.Helper()
	createTables(tb, config, options)
	shards := int64(1)
	if options.SharedWithJVM {
		shards = dynajournal.DefaultSequenceShards
	}
	name := config.JournalTable
	if name == "" {
		name = dynajournal.DefaultJournalTable
	}
	client := dynamodb.NewFromConfig(config.AWS)
	return journaltest.Store{
		Connect: func(tb testing.TB) journaltest.Journal {
			tb.Helper()
			return journaltest.Adapt(openJournal(tb, config))
		},
		Table: &journaltest.Table{Client: client, Name: name, JournalName: dynajournal.DefaultJournalName, Shards: shards},
	}
}

// largestEvent is how many bytes of an event fit beside the other attributes of its item, by DynamoDB's rule: names and
// values, a byte for each two digits of a number and one more.
func largestEvent(pid string, seq int64, native bool) int {
	const journalName, uuid = len("journal"), 36
	number := func(n int64) int { return (len(strconv.FormatInt(n, 10))+1)/2 + 1 }
	taken := len("par") + journalName + len("-P-") + len(pid) + len("-0") + len("num") + number(seq) +
		len("persistence_id") + len(pid) + len("seq") + number(seq) + len("event") + len("writer_uuid") + uuid + len("ev_ser_id") + number(4)
	if native && seq == 1 { // the entry in the index of persistence ids, of which the shard is one digit
		taken += len("ids_shard") + number(1) + len("ids_key") + journalName + 1 + len(pid)
	}
	return dynajournal.DefaultMaxItemSize - taken
}

// largestEnveloped is how many bytes of an event fit into an envelope, as protobuf counts: a tag for each field, and lengths of
// one byte for each seven bits. The suite's numbers and ids are small.
func largestEnveloped(pid string, seq int64, native bool) int {
	const journalName, uuid, lengthOfLong = len("journal"), 36, 3
	number := func(n int64) int { return (len(strconv.FormatInt(n, 10))+1)/2 + 1 }
	taken := len("par") + journalName + len("-P-") + len(pid) + len("-0") + len("num") + number(seq) + len("pay") +
		1 + lengthOfLong + // the payload with its serializer
		1 + 1 + 1 + lengthOfLong +
		1 + 1 + // the sequence number
		1 + 1 + len(pid) +
		1 + 1 + uuid
	if native && seq == 1 {
		taken += len("ids_shard") + number(1) + len("ids_key") + journalName + 1 + len(pid)
	}
	return dynajournal.DefaultMaxItemSize - taken
}
