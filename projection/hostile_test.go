package projection_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/private"
	"github.com/dynajournal/dynajournal/projection"
)

// A process whose clock is 20 hours ahead reads a shard without records. What is written later is
// trimmed before another process comes: it must sweep.
func TestWrongClockHidesNoTrimmedRecords(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	service := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	b := streaming(t, embedded.WithClock(service))
	began := time.Now()
	with := func(ahead time.Duration) func(*dynajournal.Config) {
		return func(c *dynajournal.Config) {
			wall := func() time.Time { return service().Add(ahead) }
			private.SetClock(c, clock.New(wall, func() time.Duration { return time.Since(began) }))
		}
	}
	stop := start(t, group(t, b.open(with(20*time.Hour)), b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	b.settled()
	until(t, "the leases", func() bool { return len(b.items("beat")) > 1 })
	stop()
	b.write("a", "x")
	later.Store(int64(26 * time.Hour))
	for range 2 { // shards are replaced first
		if _, err := b.engine.SweepExpired(); err != nil {
			t.Fatal(err)
		}
	}
	start(t, group(t, b.open(with(0)), b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 1)
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
	b := streaming(t)
	b.write("a", "x")
	start(t, group(t, b.open(), b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 1)
	b.settled()
	b.setStream(false)
	b.write("a", "y")
	b.setStream(true)
	b.await("group/all", "a", 2)
	b.write("a", "z")
	b.await("group/all", "a", 3)
}

// The stream is disabled while a group reads it. Its Run ends, as nothing would be found any more.
func TestStreamDisabledWhileItIsRead(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a", "x")
	over := make(chan error, 1)
	g := group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{}))
	go func() { over <- g.Run(t.Context()) }()
	b.await("group/all", "a", 1)
	b.setStream(false)
	wantError(t, "Run", <-over, projection.ErrNoStream)
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
				g := group(t, b.open(), config(b), projection.AtLeastOnce("all", &recorder{}))
				go func() { over <- g.Run(t.Context()) }()
				b.await("group/all", "a", 1)
				if _, err := b.table.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
					t.Fatal(err)
				}
				err := <-over
				if !errors.Is(err, dynajournal.ErrTableNotFound) {
					t.Errorf("Run: %v", err)
				}
			})
		}
	}
}

// The stream can't be read at all: each answer says that records were trimmed. The sweeps that are
// owed find everything.
func TestStreamThatIsAlwaysTrimmed(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	if _, err := b.engine.Inject(embedded.Fault{Effect: embedded.EffectTrimmed}); err != nil {
		t.Fatal(err)
	}
	start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	for i := range 3 {
		b.write("a", "x")
		b.await("group/all", "a", int64(i+1))
	}
}
