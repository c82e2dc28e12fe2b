package projection_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/jvm"
	"github.com/dynajournal/dynajournal/projection"
)

const jvmShards = 10

// shared is an engine with the tables of a journal that is shared with a JVM.
type shared struct {
	*bundle

	plugin *jvm.Plugin
}

func setupShared(t testing.TB, options ...embedded.Option) *shared {
	t.Helper()
	b := setup(t, options...)
	b.Config.JournalTable, b.Config.SnapshotTable = sharedTable, "shared-snapshots"
	tables := dynajournal.TableOptions{SharedWithJVM: true, Projections: true, Stream: true}
	if err := dynajournal.CreateTables(t.Context(), b.Config, tables); err != nil {
		t.Fatal(err)
	}
	b.journal = b.Journal()
	return &shared{b, jvm.New(b.table, sharedTable, "shared-snapshots", "journal", jvmShards)}
}

const sharedTable = "shared"

// put puts a single event of a JVM, as one of the JVM's requests.
func (s *shared) put(pid string, seq int64, writer string) {
	s.Helper()
	s.member(pid, seq, writer, 0, 0)
}

// member puts a single member of an atomic write of last-first+1 events.
func (s *shared) member(pid string, seq int64, writer string, first, last int64) {
	s.Helper()
	item := s.key(pid, seq)
	item["persistence_id"], item["writer_uuid"] = textOf(pid), textOf(writer)
	item["event"] = &types.AttributeValueMemberB{Value: []byte("e" + strconv.FormatInt(seq, 10))}
	item["seq"], item["ev_ser_id"] = numberAs(seq), numberAs(20)
	if last > first {
		item["idx"], item["cnt"] = numberAs(seq-first), numberAs(last-first)
	}
	s.item(item)
}

// item puts an item.
func (s *shared) item(item map[string]types.AttributeValue) {
	s.Helper()
	if _, err := s.table.PutItem(s.Context(), &dynamodb.PutItemInput{TableName: aws.String(sharedTable), Item: item}); err != nil {
		s.Fatal(err)
	}
}

func (s *shared) key(pid string, seq int64) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"par": textOf(fmt.Sprintf("journal-P-%s-%d", pid, seq/100)), "num": numberAs(seq % 100),
	}
}

func textOf(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

func numberAs(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// row returns the row of a projection and a persistence id.
func (s *shared) row(name, pid string) map[string]types.AttributeValue {
	s.Helper()
	out, err := s.table.GetItem(s.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(sharedTable + "-projections"), Key: rowKey(name, pid), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		s.Fatal(err)
	}
	return out.Item
}

// waits waits until a projection waits for a missing number of a persistence id.
func (s *shared) waits(name, pid string) {
	s.Helper()
	until(s, "it waits for a missing number", func() bool { return s.row(name, pid)["holes"] != nil })
}

// waiting returns a configuration that reads the stream, and waits for missing numbers.
func (s *shared) waiting(wait time.Duration) projection.Config {
	config := s.streamed()
	config.HoleWait = wait
	return config
}

// both starts a projection of each kind, and returns their handlers.
func (s *shared) both(config projection.Config) (*projection.Group, *recorder, *effects) {
	s.Helper()
	all, e := &recorder{}, &effects{bundle: s.bundle}
	e.table()
	g := group(s, s.journal, config, projection.AtLeastOnce("all", all), projection.Transactional("effects", e))
	start(s, g)
	return g, all, e
}

// handled waits until both projections have handled events up to a number, and compares their
// calls.
func (s *shared) handled(pid string, seq int64, all *recorder, e *effects, calls ...string) {
	s.Helper()
	s.await("group/all", pid, seq)
	s.await("group/effects", pid, seq)
	want(s, "at least once", all.of(pid), calls...)
	want(s, "transactional", e.of(pid), calls...)
}

// events returns the calls for a range of events.
func events(first, last int64) []string {
	var calls []string
	for seq := first; seq <= last; seq++ {
		calls = append(calls, fmt.Sprintf("%d e%d", seq, seq))
	}
	return calls
}

// aged makes the stored wait for the missing numbers longer, as if a process had waited.
func (s *shared) aged(name, pid string, age time.Duration) {
	s.Helper()
	row := s.row(name, pid)
	for _, hole := range row["holes"].(*types.AttributeValueMemberL).Value {
		hole.(*types.AttributeValueMemberM).Value["age"] = numberAs(age.Milliseconds())
	}
	_, err := s.table.PutItem(s.Context(), &dynamodb.PutItemInput{TableName: aws.String(sharedTable + "-projections"), Item: row})
	if err != nil {
		s.Fatal(err)
	}
}

// afterGap returns the stored writer of the event after the first missing number.
func (s *shared) afterGap(name, pid string) string {
	s.Helper()
	holes, ok := s.row(name, pid)["holes"].(*types.AttributeValueMemberL)
	if !ok {
		return ""
	}
	return holes.Value[0].(*types.AttributeValueMemberM).Value["behind"].(*types.AttributeValueMemberS).Value
}
