package projection_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
)

// streaming makes a journal whose table has a stream.
func streaming(t testing.TB, options ...embedded.Option) *bundle {
	t.Helper()
	b := setup(t, options...)
	if err := dynajournal.CreateTables(t.Context(), b.Config, dynajournal.TableOptions{Stream: true}); err != nil {
		t.Fatal(err)
	}
	return b
}

// streamed returns a configuration that reads the stream.
func (b *bundle) streamed() projection.Config {
	config := fast()
	client, _ := b.streams()
	config.Source = projection.Streams(client, projection.StreamsOptions{
		LeaseTimeout: 300 * time.Millisecond, PerSecond: -1, Poll: time.Millisecond,
	})
	return config
}

// items reads the items of the projections table that have an attribute.
func (b *bundle) items(attribute string) []map[string]types.AttributeValue {
	b.Helper()
	out, err := b.table.Scan(b.Context(), &dynamodb.ScanInput{
		TableName: aws.String(projectionsTable), ConsistentRead: aws.Bool(true),
		FilterExpression: aws.String("attribute_exists(" + attribute + ")"),
	})
	if err != nil {
		b.Fatal(err)
	}
	return out.Items
}

// awaitQuiet waits until no requested sweep is left.
func (b *bundle) awaitQuiet() {
	b.Helper()
	until(b, "the requested sweep", func() bool {
		items := b.items("owed")
		if len(items) == 0 {
			return false
		}
		swept, ok := items[0]["swept"].(*types.AttributeValueMemberN)
		return ok && swept.Value == items[0]["owed"].(*types.AttributeValueMemberN).Value
	})
}

// checkpoints returns the checkpoints of the leases that have one.
func (b *bundle) checkpoints() []string {
	b.Helper()
	var all []string
	for _, item := range b.items("checkpoint") {
		if c := item["checkpoint"].(*types.AttributeValueMemberS).Value; c != "" {
			all = append(all, c)
		}
	}
	return all
}

func TestStreamFindsAllEvents(t *testing.T) {
	t.Parallel()
	b := streaming(t, embedded.WithStreamShards(3))
	b.write("a", "x")
	all := &recorder{}
	start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", all)))
	b.await("group/all", "a", 1)
	b.awaitQuiet()
	w := b.write("a", "y")
	if _, err := w.Append(t.Context(), "z", "u"); err != nil {
		t.Fatal(err)
	}
	b.write("b|with-dashes-7", "v")
	b.await("group/all", "a", 4)
	b.await("group/all", "b|with-dashes-7", 1)
	want(t, "a", all.of("a"), "1 x", "2 y", "3 z", "4 u")
	until(t, "the checkpoints", func() bool { return len(b.checkpoints()) > 0 })
}

// Shards are split while two processes read. One of them stops, and one is killed.
func TestShardsAreSharedAndSplit(t *testing.T) {
	t.Parallel()
	b := streaming(t, embedded.WithStreamShards(4))
	all := &recorder{}
	launch := func() (func(), *gate) {
		gate := b.gate("")
		j := b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = 1 })
		config := b.streamed()
		config.ClaimTimeout = 300 * time.Millisecond
		return start(t, group(t, j, config, projection.AtLeastOnce("all", all))), gate
	}
	first, _ := launch()
	second, gate := launch()
	workers := func() int {
		names := map[string]bool{}
		for _, item := range b.items("beat") {
			if w := item["worker"].(*types.AttributeValueMemberS).Value; w != "" {
				names[w] = true
			}
		}
		return len(names)
	}
	until(t, "both have leases", func() bool { return workers() == 2 })
	write := func(round int) {
		var writing sync.WaitGroup
		for i := range 10 {
			writing.Go(func() { b.write(fmt.Sprint("id", i), fmt.Sprint("r", round)) })
		}
		writing.Wait()
		for i := range 10 {
			b.await("group/all", fmt.Sprint("id", i), int64(round))
		}
	}
	write(1)
	if err := b.Engine.SplitShards(dynajournal.DefaultJournalTable); err != nil {
		t.Fatal(err)
	}
	write(2)
	launch()
	first()
	write(3)
	gate.dead.Store(true)
	second()
	write(4)
	for i := range 10 {
		if got := strings.Join(all.of(fmt.Sprint("id", i)), ", "); !strings.HasSuffix(got, "4 r4") {
			t.Errorf("id%d: %s", i, got)
		}
	}
}

// A process is killed while it handles a record. The checkpoint has not passed it.
func TestCheckpoint_WaitsForHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.write("a", "x")
		first := block()
		close(first.passed) // only later events block
		gate := b.gate("")
		stop := start(t, group(t, b.Journal(gate.install, func(c *dynajournal.Config) { c.Retries = -1 }), b.streamed(), projection.AtLeastOnce("all", first)))
		b.await("group/all", "a", 1)
		b.awaitQuiet()
		first.passed, first.arrived = make(chan struct{}), make(chan struct{})
		first.first.Store(false)
		b.write("b", "y")
		comes(t, "the first event", first.arrived)
		beats := func() int64 {
			sum := int64(0)
			for _, item := range b.items("beat") {
				sum += numberOf(b, item["beat"])
			}
			return sum
		}
		before := beats()
		until(t, "the lease is renewed", func() bool { return beats() >= before+6 })
		gate.dead.Store(true)
		stop()
		config := b.streamed()
		config.ClaimTimeout = 300 * time.Millisecond
		start(t, group(t, b.journal, config, projection.AtLeastOnce("all", &recorder{})))
		b.await("group/all", "b", 1)
	})
}

// No process reads for longer than the stream retains records.
func TestTrimmedRecordsAreSwept(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ahead := time.Duration(0)
	b := streaming(t, embedded.WithClock(func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(ahead)
	}))
	b.write("a", "x")
	stop := start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 1)
	b.awaitQuiet()
	b.write("a", "y")
	b.await("group/all", "a", 2)
	until(t, "a checkpoint", func() bool { return len(b.checkpoints()) > 0 })
	stop()
	b.write("a", "z")
	mu.Lock()
	ahead = 25 * time.Hour
	mu.Unlock()
	for range 2 { // shards are replaced first
		if _, err := b.Engine.SweepExpired(); err != nil {
			t.Fatal(err)
		}
	}
	start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 3)
}

// The shard can't be read for 25 hours, from before its first record on, while the process can
// still renew its registration.
func TestRecordsTrimmedBeforeTheFirstOneWasRead(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	b := streaming(t, embedded.WithClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
	remove, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectReaderLimit, Operation: "GetRecords"})
	if err != nil {
		t.Fatal(err)
	}
	config := b.streamed()
	config.Logger = slog.New(slog.DiscardHandler)
	start(t, group(t, b.journal, config, projection.AtLeastOnce("all", &recorder{})))
	b.awaitQuiet()
	b.write("a", "x")
	for _, passed := range []time.Duration{11 * time.Hour, 22 * time.Hour, 25 * time.Hour} {
		ahead.Store(int64(passed))
		until(t, "the process says that it is there", func() bool {
			return numberOf(b, b.items("stream_arn")[0]["read_at"]) >= time.Now().Add(passed-time.Minute).Unix()
		})
		if _, err := b.Engine.SweepExpired(); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	b.await("group/all", "a", 1)
}

// The table gets a new stream while no process reads.
func TestReplacedStreamIsSwept(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a", "x")
	stop := start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 1)
	b.awaitQuiet()
	stop()
	if _, err := b.table.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String(dynajournal.DefaultJournalTable), StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)},
	}); err != nil {
		t.Fatal(err)
	}
	b.write("a", "y")
	if err := dynajournal.CreateTables(t.Context(), b.Config, dynajournal.TableOptions{Stream: true}); err != nil {
		t.Fatal(err)
	}
	start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 2)
}

// A projection that joins gets earlier events, even those that the others have read long ago.
func TestJoiningProjectionMissesNothing(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	b.write("a", "x")
	start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{})))
	b.await("group/all", "a", 1)
	b.awaitQuiet()
	until(t, "a checkpoint", func() bool { return len(b.checkpoints()) > 0 })
	joined := &recorder{}
	start(t, group(t, b.Journal(), b.streamed(), projection.AtLeastOnce("all", &recorder{}), projection.AtLeastOnce("joined", joined)))
	b.await("group/joined", "a", 1)
	b.write("a", "y")
	b.await("group/joined", "a", 2)
	b.await("group/all", "a", 2)
	want(t, "joined", joined.of("a"), "1 x", "2 y")
}

// The table is described as it was before it had a stream: a group waits, and Follow returns an
// error.
func TestNewStreamIsAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		client, _ := b.streams()
		if err := dynajournal.CreateTables(t.Context(), b.Config, dynajournal.TableOptions{Projections: true}); err != nil {
			t.Fatal(err)
		}
		b.setStream(false)
		remove, err := b.Engine.Inject(embedded.Fault{Effect: embedded.EffectStaleDescription, Delay: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer remove()
		b.setStream(true)
		start(t, group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{})))
		for _, err := range projection.Follow(t.Context(), b.journal, client, projection.FollowOptions{}) {
			wantError(t, "Follow", err, projection.ErrNoStream)
		}
		b.write("a", "x")
		b.await("group/all", "a", 1)
	})
}

func TestStreamThatCanNotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		err := group(t, b.journal, b.streamed(), projection.AtLeastOnce("all", &recorder{})).Run(t.Context())
		wantError(t, "a table without a stream", err, projection.ErrNoStream)
	})
	b := setup(t)
	for name, source := range map[string]projection.Source{
		"no client": projection.Streams(nil, projection.StreamsOptions{}),
		"a short lease": projection.Streams(dynamodbstreams.NewFromConfig(b.Engine.AWSConfig()), projection.StreamsOptions{
			LeaseTimeout: time.Millisecond,
		}),
		"a negative pause": projection.Streams(dynamodbstreams.NewFromConfig(b.Engine.AWSConfig()), projection.StreamsOptions{Poll: -1}),
	} {
		config := fast()
		config.Source = source
		_, err := projection.New(b.journal, config, projection.AtLeastOnce("all", &recorder{}))
		wantError(t, name, err, dynajournal.ErrInvalidArgument)
	}
}

// slowRecords is an HTTP client whose requests for records take a while. It counts them.
type slowRecords struct {
	aws.HTTPClient

	takes time.Duration
	polls atomic.Int64
}

func (s *slowRecords) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetRecords") {
		s.polls.Add(1)
		time.Sleep(s.takes)
	}
	return s.HTTPClient.Do(r)
}

// A shard is read once in StreamsOptions.Poll, however long a read takes. A read that takes longer
// is followed by a pause.
func TestStream_PollInterval(t *testing.T) {
	t.Parallel()
	for takes, polls := range map[time.Duration]int64{100 * time.Millisecond: 240, 400 * time.Millisecond: 92} {
		synctest.Test(t, func(t *testing.T) {
			b := streaming(t)
			settings := b.Engine.AWSConfig()
			slow := &slowRecords{HTTPClient: settings.HTTPClient, takes: takes}
			settings.HTTPClient = slow
			config := fast()
			config.Source = projection.Streams(dynamodbstreams.NewFromConfig(settings), projection.StreamsOptions{PerSecond: -1})
			start(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", &recorder{})))
			time.Sleep(10 * time.Second)
			before := slow.polls.Load()
			time.Sleep(time.Minute)
			if n := slow.polls.Load() - before; n < polls-1 || n > polls+1 {
				t.Errorf("%d polls a minute that take %s each, want %d", n, takes, polls)
			}
		})
	}
}
