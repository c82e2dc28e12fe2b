package entity_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// smallItems makes the journal split states of more than 1 KB.
func smallItems(c *dynajournal.Config) { c.MaxItemSize = 1024 }

// stateItems returns how many items of states are stored: heads and parts.
func stateItems(t testing.TB, b *bundle) (heads, parts int) {
	t.Helper()
	out, err := dynamodb.NewFromConfig(b.Engine.AWSConfig()).Scan(t.Context(), &dynamodb.ScanInput{
		TableName: aws.String("pekko-persistence-snapshot"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range out.Items {
		if _, ok := item["writers"]; ok {
			heads++
		} else {
			parts++
		}
	}
	return heads, parts
}

func wantItems(t testing.TB, b *bundle, heads, parts int) {
	t.Helper()
	if h, p := stateItems(t, b); h != heads || p != parts {
		t.Errorf("%d heads and %d parts are stored, want %d and %d", h, p, heads, parts)
	}
}

// closed closes the states, which waits for the deletion of replaced parts.
func closed(t testing.TB, states *counters) {
	t.Helper()
	if err := states.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestLargeStateIsSplit(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{}, smallItems)
	states := b.counters(entity.Options{})
	for i, size := range []int{5000, 3000, 10, 5000, 0} {
		doCount(t, states, i+1, pad(size, "a"))
		other := b.counters(entity.Options{})
		if _, err := other.View(t.Context(), "anna", func(c Counter) error {
			if len(c.Padding) != size || c.Count != i+1 {
				t.Errorf("the state has %d bytes, want %d", len(c.Padding), size)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, states)
	wantItems(t, b, 1, 0)
	states = b.counters(entity.Options{})
	doCount(t, states, 6, pad(2000, "b"))
	if err := states.Purge(t.Context(), "anna"); err != nil {
		t.Fatal(err)
	}
	wantItems(t, b, 1, 0)
}

// stopper lets some requests of a process through, and then no more, as if the process had been
// killed.
type stopper struct {
	inner aws.HTTPClient

	mu   sync.Mutex
	left int
	off  bool
}

func (s *stopper) install(c *dynajournal.Config) {
	s.inner = c.AWS.HTTPClient
	c.AWS.HTTPClient = &http.Client{Transport: s}
}

func (s *stopper) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	dead := s.off && s.left == 0
	if s.off && s.left > 0 {
		s.left--
	}
	s.mu.Unlock()
	if dead {
		return nil, errLost
	}
	return s.inner.Do(r)
}

// kill lets n more requests through.
func (s *stopper) kill(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off, s.left = true, n
}

// A process that is killed at any request of a put leaves either the whole old state or the whole
// new one. The next put of a large state, or a purge, deletes the parts that it has left.
func TestPutKilledAnywhereLeavesAWholeState(t *testing.T) {
	t.Parallel()
	one := func(c *dynajournal.Config) { c.ReplayParallelism, c.MaxBatchWrite = 1, 1 }
	for n := range 30 {
		b := setupStates(t, dynajournal.TableOptions{}, smallItems, one)
		first := b.counters(entity.Options{})
		doCount(t, first, 1, pad(3000, "a"))
		s := &stopper{}
		killed := b.counters(entity.Options{}, single, s.install)
		wantCount(t, killed, 1, 1)
		s.kill(n)
		_, err := entity.Do(t.Context(), killed, "anna", pad(4000, "b"))
		closed(t, killed)
		after := b.counters(entity.Options{})
		var shown Counter
		version, viewErr := after.View(t.Context(), "anna", func(c Counter) error {
			shown = c
			return nil
		})
		whole := shown.Count == 1 && shown.Padding == strings.Repeat("a", 3000) ||
			shown.Count == 2 && shown.Padding == strings.Repeat("b", 4000)
		if viewErr != nil || !whole || version != int64(shown.Count) {
			t.Fatalf("killed after %d requests: %d with %d bytes at %d, %v", n, shown.Count, len(shown.Padding), version, viewErr)
		}
		if err == nil && shown.Count != 2 {
			t.Fatalf("killed after %d requests: it was acknowledged, and is lost", n)
		}
		if n%2 == 0 {
			doCount(t, after, shown.Count+1, pad(900, "c"))
			doCount(t, after, shown.Count+2, pad(3000, "d"))
			closed(t, after)
			wantItems(t, b, 1, 5)
		} else if err := after.Purge(t.Context(), "anna"); err != nil {
			t.Fatal(err)
		} else {
			wantItems(t, b, 1, 0)
		}
	}
}

// A reader that finds parts missing because the state was replaced reads the new state.
func TestReaderNeverMixesParts(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{}, smallItems)
	writer := b.counters(entity.Options{})
	doCount(t, writer, 1, pad(3000, "a"))
	replaced := false
	reader := b.counters(entity.Options{}, func(c *dynajournal.Config) {
		inner := c.AWS.HTTPClient
		c.AWS.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") && !replaced {
				replaced = true
				doCount(t, writer, 2, pad(5000, "b"))
				closed(t, writer) // the old parts are deleted
			}
			return inner.Do(r)
		})}
	})
	if _, err := reader.View(t.Context(), "anna", func(c Counter) error {
		if c.Count != 2 || c.Padding != strings.Repeat("b", 5000) {
			t.Errorf("%d with %d bytes", c.Count, len(c.Padding))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !replaced {
		t.Error("nothing was replaced")
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// A put of a large state that conflicts with another process leaves no parts.
func TestPutThatIsRefusedLeavesNoParts(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{}, smallItems)
	one, other := b.counters(entity.Options{Attempts: 1}), b.counters(entity.Options{})
	doCount(t, one, 1, count(1))
	doCount(t, other, 2, count(1))
	_, err := entity.Do(t.Context(), one, "anna", pad(5000, "a"))
	wantError(t, "Do", err, entity.ErrContended)
	wantItems(t, b, 1, 0)
}

// A damaged or missing part is an error, and does not lead to another state.
func TestStateWithDamagedPartsIsAnError(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(client *dynamodb.Client, item map[string]types.AttributeValue) error{
		"gone": func(client *dynamodb.Client, item map[string]types.AttributeValue) error {
			_, err := client.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
				TableName: aws.String("pekko-persistence-snapshot"),
				Key:       map[string]types.AttributeValue{"par": item["par"], "seq": item["seq"]},
			})
			return err
		},
		"changed": func(client *dynamodb.Client, item map[string]types.AttributeValue) error {
			data := item["split_data"].(*types.AttributeValueMemberB)
			data.Value = bytes.ToUpper(data.Value)
			_, err := client.PutItem(context.Background(), &dynamodb.PutItemInput{
				TableName: aws.String("pekko-persistence-snapshot"), Item: item,
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupStates(t, dynajournal.TableOptions{}, smallItems)
			states := b.counters(entity.Options{})
			doCount(t, states, 1, pad(3000, "a"))
			client := dynamodb.NewFromConfig(b.Engine.AWSConfig())
			out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("pekko-persistence-snapshot")})
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range out.Items {
				if _, part := item["split_data"]; part {
					if err := damage(client, item); err != nil {
						t.Fatal(err)
					}
					break
				}
			}
			_, err = entity.Do(t.Context(), b.counters(entity.Options{}), "anna", count(1))
			wantError(t, "Do", err, dynajournal.ErrCorruptItem)
			wantCount(t, states, 1, 1, entity.InMemory)
		})
	}
}
