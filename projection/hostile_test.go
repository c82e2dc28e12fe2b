package projection_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// ahead changes a configuration so that the process's clock is ahead of the service.
func ahead(service func() time.Time, by time.Duration) func(*dynajournal.Config) {
	started := time.Now()
	return func(c *dynajournal.Config) {
		wall := func() time.Time { return service().Add(by) }
		core.SetClock(c, clock.New(wall, func() time.Duration { return time.Since(started) }))
	}
}

// A process whose clock is 20 hours ahead reads a shard without records. Later records are trimmed
// before another process starts, which must sweep.
func TestWrongClockHidesNoTrimmedRecords(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	service := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	b := streaming(t, embedded.WithClock(service))
	stop := start(t, group(t, b.Journal(ahead(service, 20*time.Hour)), b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	b.awaitQuiet()
	until(t, "the leases", func() bool { return len(b.items("beat")) > 1 })
	stop()
	b.write("a", "x")
	later.Store(int64(26 * time.Hour))
	for range 2 { // shards are replaced first
		if _, err := b.Engine.SweepExpired(); err != nil {
			t.Fatal(err)
		}
	}
	start(t, group(t, b.Journal(ahead(service, 0)), b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 1)
}

// The clock of a process is wrong by 20 hours. The process is counted while it runs, and not long
// after it was killed, by processes with a right clock and with a wrong one.
func TestWrongClockHidesNoProcess(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-20 * time.Hour, 20 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			var later atomic.Int64
			service := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
			b := setup(t, embedded.WithClock(service))
			gate := b.gate("")
			wrong := b.Journal(ahead(service, by), gate.install, func(c *dynajournal.Config) { c.Retries = -1 })
			stop := start(t, group(t, wrong, fast(), projection.AtLeastOnce("all", &recorder{})))
			observers := []*dynajournal.Journal{b.Journal(ahead(service, 0)), b.Journal(ahead(service, by)), b.Journal(ahead(service, -by))}
			count := func(j *dynajournal.Journal) int {
				all, err := operator.List(t.Context(), j)
				if err != nil || len(all) != 1 {
					return -1 // nothing is known yet
				}
				return all[0].Processes
			}
			until(t, "the process is known", func() bool { return count(observers[0]) >= 0 })
			for i, j := range observers {
				if n := count(j); n != 1 {
					t.Errorf("observer %d: %d processes while one runs", i, n)
				}
			}
			_, err := operator.New(observers[0], "group/all").Reset(t.Context(), operator.ResetOptions{})
			wantError(t, "a reset", err, projection.ErrInUse)
			gate.dead.Store(true)
			stop()
			later.Store(int64(5 * time.Minute))
			for i, j := range observers {
				if n := count(j); n != 0 {
					t.Errorf("observer %d: %d processes after it was killed", i, n)
				}
			}
		})
	}
}

// setStream enables or disables the stream of the journal table.
func (b *bundle) setStream(enabled bool) {
	b.Helper()
	specification := &types.StreamSpecification{StreamEnabled: aws.Bool(enabled)}
	if enabled {
		specification.StreamViewType = types.StreamViewTypeKeysOnly
	}
	if _, err := b.table.UpdateTable(b.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String(dynajournal.DefaultJournalTable), StreamSpecification: specification,
	}); err != nil {
		b.Fatal(err)
	}
}

// The table gets a new stream while a group reads the old one.
func TestStreamReplacedWhileItIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.write("a", "x")
		start(t, group(t, b.Journal(), b.streamed(), projection.AtLeastOnce("all", &recorder{})))
		b.await("group/all", "a", 1)
		b.awaitQuiet()
		// Both changes happen between two polls of the group, so that it never sees a table without
		// a stream.
		synctest.Wait()
		b.setStream(false)
		b.write("a", "y")
		b.setStream(true)
		b.await("group/all", "a", 2)
		b.write("a", "z")
		b.await("group/all", "a", 3)
	})
}

// The stream is disabled while a group reads it. Its Run ends, because nothing could be found any
// more.
func TestStreamDisabledWhileItIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.write("a", "x")
		over := make(chan error, 1)
		g := group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{}))
		go func() { over <- g.Run(t.Context()) }()
		b.await("group/all", "a", 1)
		b.setStream(false)
		wantError(t, "Run", comes(t, "the end of the group", over), projection.ErrNoStream)
	})
}

// A table is deleted while a group runs.
func TestTableDeletedWhileAGroupRuns(t *testing.T) {
	t.Parallel()
	for _, table := range []string{projectionsTable, dynajournal.DefaultJournalTable} {
		for name, config := range map[string]func(b *bundle) projection.Config{
			"swept": func(*bundle) projection.Config {
				config := fast()
				config.Source = projection.Sweep(projection.SweepOptions{Every: time.Millisecond})
				return config
			},
			"streamed": (*bundle).streamed,
		} {
			t.Run(table+" "+name, func(t *testing.T) {
				t.Parallel()
				b := streaming(t)
				b.write("a", "x")
				over := make(chan error, 1)
				g := group(t, b.Journal(), config(b), projection.AtLeastOnce("all", &recorder{}))
				go func() { over <- g.Run(t.Context()) }()
				b.await("group/all", "a", 1)
				if _, err := b.table.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
					t.Fatal(err)
				}
				err := comes(t, "the end of the group", over)
				if !errors.Is(err, dynajournal.ErrTableNotFound) {
					t.Errorf("Run: %v", err)
				}
			})
		}
	}
}

// The stream can't be read at all: each response reports trimmed records. The sweeps that are
// requested find everything.
func TestStreamThatIsAlwaysTrimmed(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	if _, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectTrimmed}); err != nil {
		t.Fatal(err)
	}
	start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	for i := range 3 {
		b.write("a", "x")
		b.await("group/all", "a", int64(i+1))
	}
}

// A sweep is requested again during a sweep, for a persistence id that this sweep has not listed.
func TestSweep_RequestedDuringSweep(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	if _, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectReaderLimit, Operation: "GetRecords"}); err != nil {
		t.Fatal(err)
	}
	b.write("a", "x")
	first := block()
	start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", first)))
	comes(t, "the first event", first.arrived)
	b.write("b", "y")
	key := b.items("owed")[0]["par"]
	// A process that finds trimmed records does this.
	if _, err := b.table.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(projectionsTable), Key: map[string]types.AttributeValue{"par": key},
		UpdateExpression:          aws.String("ADD owed :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	}); err != nil {
		t.Fatal(err)
	}
	close(first.passed)
	b.await("group/all", "b", 1)
}

// The journal is restored from a backup: the last events are missing, and no deletion explains it.
func TestJournalRestoredFromABackup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "1", "2", "3", "4")
	all := &recorder{}
	g := group(t, b.journal, fast(), projection.AtLeastOnce("all", all))
	start(t, g)
	g.Trigger("a")
	b.await("group/all", "a", 4)
	for _, num := range []string{"3", "4"} {
		if _, err := b.table.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String(dynajournal.DefaultJournalTable),
			Key: map[string]types.AttributeValue{
				"par": &types.AttributeValueMemberS{Value: "journal-P-a-0"}, "num": &types.AttributeValueMemberN{Value: num},
			},
		}); err != nil {
			t.Fatal(err)
		}
	}
	b.write("a", "other 3")
	g.Trigger("a")
	until(t, "the other event", func() bool { return len(all.of("a")) == 8 })
	want(t, "a", all.of("a"), "1 1", "2 2", "3 3", "4 4", "purge at 4", "1 1", "2 2", "3 other 3")
}

// The projections table is restored from a backup. Events since then are handled again, in order.
func TestProjectionsTableRestoredFromABackup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	all := &recorder{}
	g := group(t, b.journal, fast(), projection.AtLeastOnce("all", all))
	start(t, g)
	b.write("a", "1", "2")
	g.Trigger("a")
	b.await("group/all", "a", 2)
	backup := b.row("group/all", "a")
	b.write("a", "3", "4")
	g.Trigger("a")
	b.await("group/all", "a", 4)
	if _, err := b.table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(projectionsTable), Item: backup}); err != nil {
		t.Fatal(err)
	}
	g.Trigger("a")
	b.await("group/all", "a", 4)
	want(t, "a", all.of("a"), "1 1", "2 2", "3 3", "4 4", "3 3", "4 4")
}
