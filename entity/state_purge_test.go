package entity_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

const year = 365 * 24 * time.Hour

// pass lets years pass, while the engine removes expired items.
func (s *sleeper) pass(years int) {
	s.Helper()
	for range years {
		s.sleep(year)
	}
}

func (s *sleeper) purge(a *counters) {
	s.Helper()
	if err := a.Purge(s.Context(), "anna"); err != nil {
		s.Fatal(err)
	}
}

// A purged state retains its version forever.
func TestPurgedStateIsRememberedForYears(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, withCounters(t), smallItems)
	doCount(t, s.counters(entity.Options{}), 1, pad(3000, "a"))
	s.purge(s.counters(entity.Options{}))
	s.pass(10)
	s.purge(s.counters(entity.Options{})) // again, which changes nothing
	s.pass(10)
	wantItems(t, s.bundle, 1, 0)
	wantCount(t, s.counters(entity.Options{}), 0, 2)
	doCount(t, s.counters(entity.Options{}), 1, pad(3000, "b"))
	s.wantPadded(3, "b")
}

// A process is paused while its put is in flight. Meanwhile another process purges the state, years
// pass, and the state is used again. The put must not replace an acknowledged state.
func TestPutOfAPausedProcessLosesNoState(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 1} { // puts that the paused process knows
		for _, after := range []int{0, 1, 2} { // puts of the next life
			t.Run(fmt.Sprintf("%d before, %d after", before, after), func(t *testing.T) {
				t.Parallel()
				g := &gate{}
				s := newSleeper(t, withCounters(t))
				paused := s.counters(entity.Options{}, s.machine, g.install)
				for i := range before {
					doCount(t, paused, i+1, count(1))
				}
				wantCount(t, paused, before, int64(before))
				g.at(func(_ *httpRequest, send sender) (*httpResponse, error) {
					other := s.counters(entity.Options{})
					if before == 0 {
						doCount(t, other, 1, count(1))
					}
					s.purge(other)
					s.pass(10)
					for i := range after {
						doCount(t, s.counters(entity.Options{}), i+1, count(1))
					}
					return send() //nolint:bodyclose // the journal closes it
				})
				doCount(t, paused, after+100, count(100))
				wantCount(t, s.counters(entity.Options{}), after+100, int64(2+after+1))
			})
		}
	}
}

// As above, but the put arrives after its process has given it up and has decided the command
// again.
func TestPutThatLandsYearsLaterIsRefused(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 1} {
		t.Run(fmt.Sprint(before, " before"), func(t *testing.T) {
			t.Parallel()
			g := &gate{}
			s := newSleeper(t, withCounters(t))
			a := s.counters(entity.Options{}, single, g.install)
			for i := range before {
				doCount(t, a, i+1, count(1))
			}
			var late sender
			g.at(func(r *httpRequest, _ sender) (*httpResponse, error) {
				late = detached(r, g.inner)
				return nil, errLost
			})
			doCount(t, a, before+10, count(10))
			s.purge(a)
			s.pass(10)
			response, err := late()
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			wantCount(t, s.counters(entity.Options{}), 0, int64(before+2))
		})
	}
}

// purgedBefore purges the counter anna at version 1 as an earlier version of dynajournal did: the
// item expires after the fence window.
func (s *sleeper) purgedBefore() {
	s.Helper()
	first := s.counters(entity.Options{})
	doCount(s, first, 1, pad(3000, "a"))
	s.purge(first)
	closed(s, first)
	expires := s.at(&s.service)().Add(dynajournal.DefaultFenceWindow).Unix()
	_, err := dynamodb.NewFromConfig(s.Engine.AWSConfig()).UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: aws.String(dynajournal.DefaultSnapshotTable),
		Key: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: "journal-ST-counter|anna"}, "seq": &types.AttributeValueMemberN{Value: "-1"},
		},
		UpdateExpression:    aws.String("SET expires = :at"),
		ConditionExpression: aws.String("attribute_exists(expires)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":at": &types.AttributeValueMemberN{Value: strconv.FormatInt(expires, 10)},
		},
	})
	if err != nil {
		s.Fatal(err)
	}
}

// A state that an earlier version of dynajournal has purged counts as purged as long as its item is
// stored.
func TestStatePurgedByAnEarlierVersion(t *testing.T) {
	t.Parallel()
	later := func(s *sleeper) { // the item has expired, but is not removed yet
		s.service.Add(int64(asleep))
		s.local.Add(int64(asleep))
	}
	for name, c := range map[string]struct {
		do      func(s *sleeper)
		version int64 // of the next put
	}{
		"a load":                  {func(s *sleeper) { wantCount(s, s.counters(entity.Options{}), 0, 2) }, 3},
		"a load after it expired": {func(s *sleeper) { later(s); wantCount(s, s.counters(entity.Options{}), 0, 2) }, 3},
		"a put, and years": {func(s *sleeper) {
			doCount(s, s.counters(entity.Options{}), 1, count(1))
			s.purge(s.counters(entity.Options{}))
			s.pass(10)
		}, 5},
		"a purge, and years":         {func(s *sleeper) { s.purge(s.counters(entity.Options{})); s.pass(10) }, 4},
		"a purge after it expired":   {func(s *sleeper) { later(s); s.purge(s.counters(entity.Options{})); s.pass(10) }, 4},
		"nothing, until it vanishes": {func(s *sleeper) { s.pass(1) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSleeper(t, withCounters(t), smallItems)
			s.purgedBefore()
			c.do(s)
			doCount(t, s.counters(entity.Options{}), 1, pad(3000, "b"))
			s.wantPadded(c.version, "b")
		})
	}
}
