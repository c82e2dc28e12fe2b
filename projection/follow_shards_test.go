package projection_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
)

// counted counts the requests of a client by operation.
type counted struct {
	aws.HTTPClient

	mu sync.Mutex
	of map[string]int
}

func (c *counted) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c.mu.Lock()
	c.of[operation]++
	c.mu.Unlock()
	return c.HTTPClient.Do(r)
}

// take returns the number of requests of each operation since the last call.
func (c *counted) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.of
	c.of = map[string]int{}
	return of
}

// countedStreams returns a client for streams, and its counter.
func (b *bundle) countedStreams() (*dynamodbstreams.Client, *counted) {
	cfg := b.Engine.AWSConfig()
	c := &counted{HTTPClient: cfg.HTTPClient, of: map[string]int{}}
	cfg.HTTPClient = c
	return dynamodbstreams.NewFromConfig(cfg), c
}

// inject injects a fault, and returns a function that removes it.
func (b *bundle) inject(spec string) (remove func()) {
	b.Helper()
	f, err := embedded.ParseFault(spec)
	if err != nil {
		b.Fatal(err)
	}
	remove, err = b.Engine.Inject(f)
	if err != nil {
		b.Fatal(err)
	}
	return remove
}

func (b *bundle) split() {
	b.Helper()
	if err := b.Engine.SplitShards(b.journalTable()); err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) disableStream() {
	b.Helper()
	if _, err := b.table.UpdateTable(b.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String(b.journalTable()), StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)},
	}); err != nil {
		b.Fatal(err)
	}
}

// slowly polls once a second, so that a test of hours in virtual time needs fewer requests.
func slowly(o *projection.FollowOptions) { o.Poll = time.Second }

// Every shard is split again and again while events are written, and the children are listed a
// minute late: all at once, or some before others.
func TestFollow_ShardsListedLate(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{
		"all": "late-shards,delay=1m", "some": "late-shards,some,delay=1m",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := streaming(t, embedded.WithStreamShards(3))
				b.inject(fault)
				f := b.follow(slowly)
				var ids []string
				writers := map[string]*dynajournal.Writer{}
				var all []string
				n := 0
				round := func(pause time.Duration) {
					n++
					all = append(all, fmt.Sprintf("%d %d", n, n))
					for _, id := range ids {
						b.append(writers[id], n)
					}
					time.Sleep(pause)
				}
				for i := range 12 {
					id := fmt.Sprint("i", i)
					ids, writers[id] = append(ids, id), b.write(id)
				}
				for _, pause := range []time.Duration{100 * time.Second, 15 * time.Second, 40 * time.Second} {
					b.split()
					for range 3 { // also persistence ids that were never seen before
						id := fmt.Sprint("late", n)
						b.write(id, 1)
						b.write(id, 2, 3)
						round(pause / 3)
					}
				}
				time.Sleep(3 * time.Minute)
				for _, id := range ids {
					want(t, id, f.of(id), all...)
				}
				f.mu.Lock()
				for id, got := range f.calls {
					if strings.HasPrefix(id, "late") && !slices.Equal(got, []string{"1 1", "2 2", "3 3"}) {
						t.Errorf("%s: %q", id, got)
					}
				}
				if len(f.calls) != len(ids)+n {
					t.Errorf("events of %d persistence ids came, want %d", len(f.calls), len(ids)+n)
				}
				f.mu.Unlock()
				f.stop()
				comes(t, "the end", f.ended)
			})
		})
	}
}

// The only shard has ended, and its children are not listed for ten minutes. The stream is there.
func TestFollow_EndsOnlyIfStreamDisabled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.inject("late-shards,delay=10m")
		w := b.write("a", "1")
		f := b.follow(slowly)
		b.split()
		b.append(w, "2")
		time.Sleep(11 * time.Minute)
		want(t, "a", f.of("a"), "2 2")
		b.append(w, "3")
		b.disableStream()
		wantError(t, "a stream that is disabled", comes(t, "the end", f.ended), projection.ErrNoStream)
		want(t, "what was written before", f.of("a"), "2 2", "3 3")
	})
}

// No records can be read for 20 minutes, so iterators expire before the first record. The outage
// starts before Follow, or when Follow has started.
func TestFollow_OutageBeforeFirstRecord(t *testing.T) {
	t.Parallel()
	for name, atOnce := range map[string]bool{"from the start": true, "later": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := streaming(t, embedded.WithStreamShards(3))
				a := b.write("a", "1")
				time.Sleep(2 * time.Minute)
				remove := func() {}
				if atOnce {
					remove = b.inject("unavailable,operation=GetRecords")
				}
				f, started := b.start(slowly)
				if !atOnce {
					<-started
					remove = b.inject("unavailable,operation=GetRecords")
				}
				time.Sleep(time.Minute)
				b.append(a, "2")
				c := b.write("c", "1")
				time.Sleep(20 * time.Minute)
				remove()
				<-started
				b.append(a, "3")
				b.append(c, "2")
				time.Sleep(time.Minute)
				want(t, "a", f.of("a"), "2 2", "3 3")
				want(t, "c", f.of("c"), "1 1", "2 2")
				f.stop()
				comes(t, "the end", f.ended)
			})
		})
	}
}

// The first read of a shard is slow, and determines the position of LATEST.
func TestFollow_StartedBeforeSlowFirstRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t, embedded.WithStreamShards(3))
		b.inject("late-latest")
		b.inject("slow,operation=GetRecords,delay=5s")
		f := b.follow(slowly)
		for i := range 12 {
			b.write(fmt.Sprint("i", i), "1")
		}
		time.Sleep(time.Minute)
		for i := range 12 {
			want(t, fmt.Sprint("i", i), f.of(fmt.Sprint("i", i)), "1 1")
		}
		f.stop()
		comes(t, "the end", f.ended)
	})
}

// Follow starts while the children of a shard that has ended are not listed. It returns events that
// are written to them from then on, and no events from before.
func TestFollow_StartsWhileShardsListedLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.inject("late-shards,delay=5m")
		b.split()
		w := b.write("a", "1")
		time.Sleep(2 * time.Minute)
		f := b.follow(slowly)
		b.append(w, "2")
		time.Sleep(6 * time.Minute)
		want(t, "a", f.of("a"), "2 2")
		f.stop()
		comes(t, "the end", f.ended)
	})
}

// The endpoint of the table may show another time than the clock that dates records.
func TestFollow_TableClockAheadOfStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.inject("wrong-clock,delay=10m,table=*")
		w := b.write("a", "1")
		f := b.follow(slowly)
		b.append(w, "2")
		time.Sleep(time.Minute)
		want(t, "a", f.of("a"), "2 2")
		f.stop()
		comes(t, "the end", f.ended)
	})
}

// Follow reads a stream with 3 closed and 4 open shards. It sends no requests for the closed ones,
// and 4 descriptions a minute.
func TestFollow_RequestsForShards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.split()
		b.split()
		client, sent := b.countedStreams()
		f, started := b.start(slowly, client)
		<-started
		synctest.Wait()
		if got := sent.take(); got["DescribeStream"] != 1 || got["GetShardIterator"] != 4 || got["GetRecords"] != 4 {
			t.Errorf("to begin: %v", got)
		}
		time.Sleep(time.Minute + 500*time.Millisecond) // between two requests
		sent.take()
		time.Sleep(10 * time.Minute)
		if got := sent.take(); got["DescribeStream"] != 40 || got["GetShardIterator"] != 0 || got["GetRecords"] != 4*600 {
			t.Errorf("in ten minutes without events: %v", got)
		}
		f.stop()
		comes(t, "the end", f.ended)
	})
}

// No record of a shard can be read for 13 hours, so that some may be trimmed. Follow returns an
// error.
func TestFollow_EndsIfRecordsMayBeTrimmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		f := b.follow(func(o *projection.FollowOptions) { o.Poll = time.Minute })
		remove := b.inject("unavailable,operation=GetRecords")
		b.write("a", "1")
		time.Sleep(13 * time.Hour)
		remove()
		time.Sleep(5 * time.Minute)
		err := comes(t, "the end", f.ended)
		if _, trimmed := errors.AsType[*streamtypes.TrimmedDataAccessException](err); !trimmed {
			t.Errorf("it ended with %v", err)
		}
	})
}
