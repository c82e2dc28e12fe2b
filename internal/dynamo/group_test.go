package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// respondEmpty responds to every request with an empty success.
func respondEmpty(r *http.Request) (*http.Response, error) { return ok(`{}`)(r) }

func groupOn(t *testing.T, c *dynamo.Client, change ...func(*dynamo.GroupOptions)) *dynamo.Group {
	t.Helper()
	opts := dynamo.GroupOptions{Table: table, Context: context.Background(), Refused: func(err error) { t.Errorf("refused: %v", err) }}
	for _, f := range change {
		f(&opts)
	}
	g := c.NewGroup(opts)
	t.Cleanup(g.Close)
	return g
}

// insert inserts items of the given size, and returns their outcomes.
func insert(t *testing.T, g *dynamo.Group, items, size int, more ...string) []error {
	t.Helper()
	in := dynamo.Insert{ID: "p", Condition: "attribute_not_exists(par)"}
	for i := range items {
		item := key(i)
		for _, name := range more {
			item[name] = &types.AttributeValueMemberS{Value: name}
		}
		in.Items, in.Sizes = append(in.Items, item), append(in.Sizes, size)
	}
	s := g.Insert(t.Context(), &dynamo.Meter{}, in)
	<-s.Done()
	return s.Outcomes()
}

// done responds to a BatchExecuteStatement that all its statements succeeded.
func done(statements int) step {
	return ok(`{"Responses":[` + strings.TrimSuffix(strings.Repeat("{},", statements), ",") + `]}`)
}

// sizes returns the number of statements of each request, sorted.
func sizes(s *script) []int {
	var all []int
	for _, attempt := range s.attempts() {
		statements, _ := attempt.body["Statements"].([]any)
		all = append(all, len(statements))
	}
	slices.Sort(all)
	return all
}

func TestSharedRequestStaysWithinItsLimits(t *testing.T) {
	for _, c := range []struct {
		items, size int
		want        []int
	}{
		{1, 1, []int{0}},
		{2, 1, []int{2}},
		{25, 1, []int{25}},
		{50, 1, []int{25, 25}},
		{25, 100_000, []int{5, 10, 10}},
		{4, 400_000, []int{2, 2}},
		{3, 2 << 20, []int{0, 0, 0}},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			s := &counting{}
			g := groupOn(t, newClient(t, options(s)))
			for _, err := range insert(t, g, c.items, c.size) {
				if err != nil {
					t.Error(err)
				}
			}
			if got := s.sizes(); !slices.Equal(got, c.want) {
				t.Errorf("requests of %v statements, want %v", got, c.want)
			}
		})
	}
}

// counting is an HTTP client that responds that all statements succeeded, and counts them.
type counting struct {
	mu    sync.Mutex
	seen  []int
	texts map[string]bool
}

// Do serves a request.
func (c *counting) Do(r *http.Request) (*http.Response, error) {
	s := newScript(respondEmpty)
	if _, err := s.Do(r); err != nil {
		return nil, err
	}
	statements, _ := s.attempts()[0].body["Statements"].([]any)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, len(statements))
	for _, statement := range statements {
		if c.texts == nil {
			c.texts = map[string]bool{}
		}
		c.texts[statement.(map[string]any)["Statement"].(string)] = true
	}
	return done(len(statements))(r)
}

func (c *counting) sizes() []int {
	slices.Sort(c.seen)
	return c.seen
}

// delayed is an HTTP client whose responses take time. The first responses are failures.
type delayed struct {
	counting

	delay time.Duration
	fails int
}

// Do serves a request.
func (d *delayed) Do(r *http.Request) (*http.Response, error) {
	time.Sleep(d.delay)
	d.mu.Lock()
	fails := d.fails > 0
	d.fails--
	d.mu.Unlock()
	if fails {
		return internalError()(r)
	}
	return d.counting.Do(r)
}

// Writes are sent alone while the processors have time for it. The farther away the service is, the
// more writes are sent alone. Failed requests do not change the limit.
func TestGroup_FarServiceSharesLater(t *testing.T) {
	t.Parallel()
	const writes = 20
	for name, c := range map[string]struct {
		delay time.Duration
		fails int
		alone int
	}{
		"near":                   {0, 0, dynamo.Busy},
		"far":                    {100 * time.Millisecond, 0, writes},
		"far, and it only fails": {100 * time.Millisecond, 1, dynamo.Busy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := &delayed{delay: c.delay, fails: c.fails}
				client := newClient(t, options(service, func(o *dynamo.Options) {
					o.Retries, o.MaxInFlight = 0, writes
				}))
				g := groupOn(t, client)
				insert(t, g, 1, 100)
				service.delay, service.seen = time.Second, nil
				var all []*dynamo.Insertion
				for i := range writes {
					in := dynamo.Insert{ID: fmt.Sprint(i), Condition: "c", Items: []dynamo.Attributes{key(i)}, Sizes: []int{100}}
					all = append(all, g.Insert(t.Context(), &dynamo.Meter{}, in))
					synctest.Wait() // it is sent, or it waits with others
				}
				for _, s := range all {
					<-s.Done()
				}
				alone := 0
				for _, statements := range service.sizes() {
					if statements == 0 {
						alone++
					}
				}
				if alone != c.alone {
					t.Errorf("%d of %d writes were sent alone, want %d", alone, writes, c.alone)
				}
			})
		})
	}
}

func TestStatementsHaveOneTextForEachSetOfAttributes(t *testing.T) {
	s := &counting{}
	g := groupOn(t, newClient(t, options(s)), func(o *dynamo.GroupOptions) { o.Table = `ta"ble` })
	for range 3 {
		insert(t, g, 5, 1)
		insert(t, g, 5, 1, "it's")
	}
	want := map[string]bool{
		`INSERT INTO "ta""ble" VALUE {'num':?,'par':?}`:           true,
		`INSERT INTO "ta""ble" VALUE {'it''s':?,'num':?,'par':?}`: true,
	}
	if len(s.texts) != len(want) {
		t.Errorf("statements %v, want %v", s.texts, want)
	}
	for text := range want {
		if !s.texts[text] {
			t.Errorf("no statement %s in %v", text, s.texts)
		}
	}
}

func TestStatements_MoreThanCached(t *testing.T) {
	g := groupOn(t, newClient(t, options(&counting{})))
	for i := range 100 {
		for _, err := range insert(t, g, 2, 1, fmt.Sprint("a", i)) {
			if err != nil {
				t.Error(err)
			}
		}
	}
}

func TestGroupThatIsOffPutsEachItem(t *testing.T) {
	s := newScript(respondEmpty)
	for _, err := range insert(t, groupOn(t, client(t, s), func(o *dynamo.GroupOptions) { o.Off = true }), 7, 1) {
		if err != nil {
			t.Error(err)
		}
	}
	if got := sizes(s); !slices.Equal(got, make([]int, 7)) {
		t.Errorf("requests of %v statements, want 7 without any", got)
	}
}

func TestGroup_FailureMeansSameAsForPut(t *testing.T) {
	for name, f := range failures {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := client(t, newScript(f.fail), shortly)
				g := c.NewGroup(dynamo.GroupOptions{Table: table, Context: context.Background(), Refused: func(error) {}})
				defer g.Close()
				for _, err := range insert(t, g, 3, 1) {
					if err == nil || dynamo.MaybeApplied(err) != f.ambiguous {
						t.Errorf("MaybeApplied is %v, want %v: %v", !f.ambiguous, f.ambiguous, err)
					}
				}
			})
		})
	}
}

func TestItemOfASharedRequestStaysUnknownAfterALostResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := ok(`{"Responses":[{"Error":{"Code":"InternalServerError"}},{"Error":{"Code":"ThrottlingError"}}]}`)
		g := groupOn(t, client(t, newScript(lost, throttle())))
		outcomes := insert(t, g, 2, 1)
		for i, want := range []bool{true, false} {
			if err := outcomes[i]; !errors.Is(err, dynamo.ErrThrottled) || dynamo.MaybeApplied(err) != want {
				t.Errorf("item %d: MaybeApplied %v, want %v: %v", i, !want, want, err)
			}
		}
	})
}

func TestObserverSeesASharedRequestOnce(t *testing.T) {
	var seen []dynamo.Attempt
	c := newClient(t, options(&counting{}, func(o *dynamo.Options) {
		o.Observe = func(_ context.Context, attempt dynamo.Attempt) { seen = append(seen, attempt) }
	}))
	insert(t, groupOn(t, c), 10, 1)
	if len(seen) != 1 || seen[0].Operation != "BatchExecuteStatement" || seen[0].Statements != 10 || seen[0].Table != table {
		t.Errorf("seen %+v, want one BatchExecuteStatement of 10 statements on %s", seen, table)
	}
}

// A single sum is divided by the sizes and the outcomes of the items.
func TestUnitsOfASharedRequestAreChargedToEachWriter(t *testing.T) {
	const done, taken, throttled = `{}`, `{"Error":{"Code":"DuplicateItem"}}`, `{"Error":{"Code":"ThrottlingError"}}`
	for name, c := range map[string]struct {
		// sizes are the sizes of the items. The first item has an entry in an index.
		sizes     []int
		responses []string
		capacity  string
		want      []float64
	}{
		"each statement":              {[]int{1, 1}, []string{done, done}, `{"CapacityUnits":3},{"CapacityUnits":5}`, []float64{3, 5}},
		"one sum":                     {[]int{1024, 1025, 9 << 10}, []string{done, done, done}, `{"CapacityUnits":13}`, []float64{2, 2, 9}},
		"one sum, of a larger unit":   {[]int{1, 2000, 3000}, []string{done, done, done}, `{"CapacityUnits":14}`, []float64{4, 4, 6}},
		"a key was taken":             {[]int{1, 1, 5000}, []string{done, taken, done}, `{"CapacityUnits":10}`, []float64{2, 3, 5}},
		"two keys were taken":         {[]int{1, 1, 3000}, []string{done, taken, taken}, `{"CapacityUnits":6}`, []float64{2, 1, 3}},
		"taken, with a strange sum":   {[]int{1, 1, 5000}, []string{done, taken, done}, `{"CapacityUnits":4}`, []float64{1, 0.5, 2.5}},
		"none for what was throttled": {[]int{1, 1, 1}, []string{done, throttled, done}, `{"CapacityUnits":3}`, []float64{2, 0, 1}},
		"a sum of two tables":         {[]int{1, 1, 1}, []string{done, done, done}, `{"CapacityUnits":1},{"CapacityUnits":3}`, []float64{2, 1, 1}},
		"all were taken":              {[]int{1, 1, 1}, []string{taken, taken, taken}, ``, []float64{0, 0, 0}},
		"all were taken, with a sum":  {[]int{1, 1, 1}, []string{taken, taken, taken}, `{"CapacityUnits":5}`, []float64{1.5, 1.5, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				shared := ok(`{"Responses":[` + strings.Join(c.responses, ",") + `],"ConsumedCapacity":[` + c.capacity + `]}`)
				block := func(r *http.Request) (*http.Response, error) {
					<-gate
					return respondEmpty(r)
				}
				steps := append(slices.Repeat([]step{block}, dynamo.Busy), shared, respondEmpty)
				entry := key(dynamo.Busy)["num"]
				g := groupOn(t, client(t, newScript(steps...)), func(o *dynamo.GroupOptions) {
					o.IndexBytes = func(item dynamo.Attributes) int {
						if reflect.DeepEqual(item["num"], entry) {
							return 100
						}
						return 0
					}
				})
				meters := make([]dynamo.Meter, dynamo.Busy+len(c.sizes))
				var all []*dynamo.Insertion
				for i := range meters {
					size := 1
					if i >= dynamo.Busy {
						size = c.sizes[i-dynamo.Busy]
					}
					all = append(all, g.Insert(t.Context(), &meters[i], dynamo.Insert{
						ID: fmt.Sprint(i), Items: []dynamo.Attributes{key(i)}, Sizes: []int{size}, Condition: "c",
					}))
					synctest.Wait()
				}
				close(gate)
				for _, s := range all {
					<-s.Done()
				}
				for i, want := range c.want {
					if got := meters[dynamo.Busy+i].Cost().WriteUnits; got != want {
						t.Errorf("writer %d: %v units, want %v", i, got, want)
					}
				}
				if got := meters[dynamo.Busy].Cost().Requests; got != 1 {
					t.Errorf("the first writer is charged %d requests, want the shared one", got)
				}
			})
		})
	}
}

// Some items of a response are retried, while others, which the service refuses as PartiQL, are
// sent singly and concurrently. They must not share counters, which the race detector checks.
func TestItemsOfOneResponseHaveSeparateAttempts(t *testing.T) {
	mixed := ok(`{"Responses":[{"Error":{"Code":"ThrottlingError"}},{"Error":{"Code":"ValidationError"}},{}]}`)
	for range 20 {
		s := newScript(mixed, throttle(), respondEmpty)
		g := groupOn(t, client(t, s, func(o *dynamo.Options) { o.BackoffBase, o.BackoffCap = 1, 1 }))
		for i, err := range insert(t, g, 3, 1) {
			if err != nil {
				t.Errorf("item %d: %v", i, err)
			}
		}
		if got := len(s.attempts()); got != 4 {
			t.Errorf("%d requests, want one for all three, a throttled one, and one for each of the two that were left", got)
		}
	}
}

var errTakenBack = errors.New("taken back")

// The check fails when the group has already put the write in a request.
func TestWithdrawnWriteIsNotSent(t *testing.T) {
	for items := 1; items <= 2; items++ {
		s := &counting{}
		g := groupOn(t, newClient(t, options(s)))
		in := dynamo.Insert{ID: "p", Condition: "attribute_not_exists(par)", Before: func(clock.Moment) error { return errTakenBack }}
		for i := range items {
			in.Items, in.Sizes = append(in.Items, key(i)), append(in.Sizes, 1)
		}
		insertion := g.Insert(t.Context(), &dynamo.Meter{}, in)
		<-insertion.Done()
		for _, err := range insertion.Outcomes() {
			if err == nil || dynamo.MaybeApplied(err) {
				t.Errorf("the outcome of a write that was taken back is %v", err)
			}
		}
		if sent := s.sizes(); len(sent) > 0 {
			t.Errorf("requests of %v statements were sent", sent)
		}
	}
}

// The responses cannot be assigned to statements.
func TestSharedRequestWithTooFewResponsesIsSentAgain(t *testing.T) {
	s := newScript(done(1), done(2))
	for _, err := range insert(t, groupOn(t, newClient(t, options(s))), 2, 1) {
		if err != nil {
			t.Error(err)
		}
	}
	if n := len(s.attempts()); n != 2 {
		t.Errorf("there were %d attempts, want 2", n)
	}
}
