//go:build interop

package interop_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/serialization"
)

// service is a journal that both sides use.
type service struct {
	config dynajournal.Config
	client *dynamodb.Client
	jvm    *program
	plugin *plugin
}

// sharedService returns a shared journal with the default configuration on both sides.
func sharedService(tb testing.TB) *service {
	tb.Helper()
	s := newService(tb, dynajournal.Config{}, dynajournal.TableOptions{SharedWithJVM: true})
	s.jvm, s.plugin = jvm(tb), pekko110
	return s
}

// newService creates tables, unless they exist. The service has no JVM yet.
func newService(tb testing.TB, config dynajournal.Config, tables dynajournal.TableOptions) *service {
	tb.Helper()
	config.Endpoint, config.AccessKeyID, config.SecretAccessKey = endpoint(tb), "interop", "interop"
	config.Serialization, config.Adapter = registry(tb, nil, nil), remarks{}
	if err := dynajournal.CreateTables(tb.Context(), config, tables); err != nil {
		tb.Fatalf("create the tables: %v", err)
	}
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: &config.Endpoint,
		Region:       "us-east-1",
		Credentials: aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "interop", SecretAccessKey: "interop"}, ctx.Err()
		}),
	})
	return &service{config: config, client: client}
}

// open opens the journal in Go, with changes to its configuration.
func (s *service) open(tb testing.TB, change ...func(*dynajournal.Config)) *dynajournal.Journal {
	tb.Helper()
	config := s.config
	for _, c := range change {
		c(&config)
	}
	j, err := dynajournal.Open(tb.Context(), config)
	if err != nil {
		tb.Fatalf("open the journal: %v", err)
	}
	tb.Cleanup(func() {
		if err := j.Close(); err != nil {
			tb.Errorf("close the journal: %v", err)
		}
	})
	return j
}

var pids atomic.Int64

// newPID returns a new persistence id.
func newPID(tb testing.TB) string {
	tb.Helper()
	return fmt.Sprintf("%s|%d", tb.Name(), pids.Add(1))
}

// recovered is a Go entity after its recovery.
type recovered struct {
	*dynajournal.Writer
	events []seen
}

// seen is an event as a reader sees it.
type seen struct {
	seq   int64
	event typed
}

func (e seen) String() string { return fmt.Sprintf("%d: %v", e.seq, e.event) }

// recoverGo recovers a persistence id after the snapshot at after, or from its first event if after
// is 0.
func recoverGo(tb testing.TB, j *dynajournal.Journal, pid string, after int64) recovered {
	tb.Helper()
	r := recovered{}
	var err error
	r.Writer, err = j.Recover(tb.Context(), pid, dynajournal.RecoverOptions{Snapshot: after}, func(e dynajournal.Event) error {
		r.events = append(r.events, see(tb, e))
		return nil
	})
	if err != nil {
		tb.Fatalf("recover in Go: %v", err)
	}
	return r
}

// loseJournal makes Go continue after a snapshot of which the journal lacks events.
func loseJournal(tb testing.TB, j *dynajournal.Journal, pid string, snapshot int64) {
	tb.Helper()
	opts := dynajournal.RecoverOptions{Snapshot: snapshot, JournalLost: true}
	if _, err := j.Recover(tb.Context(), pid, opts, nil); err != nil {
		tb.Fatalf("recover in Go: %v", err)
	}
}

func see(tb testing.TB, e dynajournal.Event) seen {
	tb.Helper()
	value, err := e.Payload(tb.Context())
	if err != nil {
		tb.Fatalf("event %d of %q: %v", e.SequenceNumber, e.PersistenceID, err)
	}
	return seen{e.SequenceNumber, typedOf(tb, value)}
}

// appendAll appends values, as one atomic write or one by one.
func (r recovered) appendAll(tb testing.TB, atomically bool, values ...any) {
	tb.Helper()
	var err error
	if atomically {
		_, err = r.Append(tb.Context(), values...)
	} else {
		_, err = r.AppendEach(tb.Context(), values...)
	}
	if err != nil {
		tb.Fatalf("append in Go: %v", err)
	}
}

// readGo reads events in Go, without a writer.
func readGo(tb testing.TB, j *dynajournal.Journal, pid string, window dynajournal.Range) []seen {
	tb.Helper()
	var events []seen
	for e, err := range j.Events(tb.Context(), pid, window) {
		if err != nil {
			tb.Fatalf("read in Go: %v", err)
		}
		events = append(events, see(tb, e))
	}
	return events
}

// seenJVM returns the events of a response.
func seenJVM(a answer) []seen {
	var events []seen
	for _, e := range a.Events {
		events = append(events, seen{e.Seq, e.Event})
	}
	return events
}

// checkSeen compares the events that a side sees with the expected ones.
func checkSeen(tb testing.TB, side string, got, want []seen) {
	tb.Helper()
	equal := len(got) == len(want)
	for i := 0; equal && i < len(got); i++ {
		equal = got[i].seq == want[i].seq && got[i].event.same(want[i].event)
	}
	if !equal {
		tb.Errorf("%s sees\n%s\nwant\n%s", side, lines(got), lines(want))
	}
}

func lines(events []seen) string {
	text := make([]string, len(events))
	for i, e := range events {
		text[i] = e.String()
	}
	return strings.Join(text, "\n")
}

// numbered returns values with the numbers from first on.
func numbered(tb testing.TB, first int64, values ...any) []seen {
	tb.Helper()
	events := make([]seen, len(values))
	for i, v := range values {
		events[i] = seen{first + int64(i), typedOf(tb, v)}
	}
	return events
}

// texts returns n different values.
func texts(prefix string, n int) []any {
	values := make([]any, n)
	for i := range values {
		values[i] = fmt.Sprintf("%s-%d", prefix, i+1)
	}
	return values
}

// items returns all items of a table whose partition key begins with one of the prefixes, as
// par/num → attributes.
func (s *service) items(
	tb testing.TB, table, sortKey string, prefixes ...string,
) map[string]map[string]types.AttributeValue {
	tb.Helper()
	found := map[string]map[string]types.AttributeValue{}
	pages := dynamodb.NewScanPaginator(s.client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(tb.Context())
		if err != nil {
			tb.Fatalf("scan table %s: %v", table, err)
		}
		for _, item := range page.Items {
			par, _ := item["par"].(*types.AttributeValueMemberS)
			num, _ := item[sortKey].(*types.AttributeValueMemberN)
			if par == nil || num == nil {
				tb.Fatalf("an item of table %s has no key", table)
			}
			for _, prefix := range prefixes {
				if strings.HasPrefix(par.Value, prefix) {
					found[par.Value+"/"+num.Value] = item
				}
			}
		}
	}
	return found
}

// journalItems returns the items of a persistence id in the journal table. No id of a test is a
// prefix of another.
func (s *service) journalItems(tb testing.TB, pid string) map[string]map[string]types.AttributeValue {
	tb.Helper()
	return s.items(tb, s.journalTable(), "num", "journal-P-"+pid+"-", "journal-SH-"+pid+"-", "journal-SL-"+pid+"-")
}

func (s *service) journalTable() string {
	if s.config.JournalTable != "" {
		return s.config.JournalTable
	}
	return dynajournal.DefaultJournalTable
}

// lose deletes events, bypassing the journal.
func (s *service) lose(tb testing.TB, pid string, numbers ...int64) {
	tb.Helper()
	for _, n := range numbers {
		s.loseItem(tb, fmt.Sprintf("journal-P-%s-%d", pid, n/100), n%100)
	}
}

// loseItem deletes an item of the journal table.
func (s *service) loseItem(tb testing.TB, par string, num int64) {
	tb.Helper()
	_, err := s.client.DeleteItem(tb.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(s.journalTable()),
		Key:       map[string]types.AttributeValue{"par": &types.AttributeValueMemberS{Value: par}, "num": attributeOf(num)},
	})
	if err != nil {
		tb.Fatalf("lose item %s/%d: %v", par, num, err)
	}
}

// startJVM starts a persistent actor, and returns the result of its recovery.
func (s *service) startJVM(tb testing.TB, pid string) answer {
	tb.Helper()
	return s.jvm.do(tb, request{Op: "start", PID: pid})
}

// stopJVM stops a persistent actor.
func (s *service) stopJVM(tb testing.TB, pid string) {
	tb.Helper()
	s.jvm.do(tb, request{Op: "stop", PID: pid})
}

// persistJVM makes a running persistent actor persist values.
func (s *service) persistJVM(tb testing.TB, pid string, atomically bool, values ...any) {
	tb.Helper()
	s.jvm.do(tb, request{Op: "persist", PID: pid, Events: typedAll(tb, values...), Atomic: atomically})
}

// writeJVM starts a persistent actor, makes it persist values, and stops it.
func (s *service) writeJVM(tb testing.TB, pid string, atomically bool, values ...any) {
	tb.Helper()
	s.startJVM(tb, pid)
	s.persistJVM(tb, pid, atomically, values...)
	s.stopJVM(tb, pid)
}

// replayJVM returns everything that the JVM replays.
func (s *service) replayJVM(tb testing.TB, pid string) answer {
	tb.Helper()
	return s.jvm.do(tb, request{Op: "replay", PID: pid})
}

// withRegistry sets a registry with other options than the service's.
func withRegistry(r *serialization.Registry) func(*dynajournal.Config) {
	return func(c *dynajournal.Config) { c.Serialization = r }
}

// eventKey returns the key of an event's item in the result of journalItems.
func eventKey(pid string, seq int64) string {
	return fmt.Sprintf("journal-P-%s-%d/%d", pid, seq/100, seq%100)
}
