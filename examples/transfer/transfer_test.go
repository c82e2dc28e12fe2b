//go:build long

// Without the tag the program is compiled, but not run, as a test program for each example takes
// long to link.

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	main()
	// Output:
	// the first process ends in the middle of a transfer:
	//   anna has 70
	//   bob has 0
	// the second process continues:
	//   anna has 70
	//   bob has 30
	// carl refuses a transfer:
	//   anna has 70
	//   carl has 0
}

var example = Transfer{ID: "t-1", From: "anna", To: "bob", Amount: 30}

// newJournal opens a journal with an account of 100, and with the closed account of carl.
func newJournal(t *testing.T) *entitytest.Journal {
	t.Helper()
	r, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	j := entitytest.OpenJournal(t, r)
	if err := dynajournal.CreateTables(t.Context(), j.Config, dynajournal.TableOptions{Projections: true}); err != nil {
		t.Fatal(err)
	}
	j.Conflict("account|anna", Received{"t-0", 100})
	j.Conflict("account|carl", Closed{})
	return j
}

// mortal is the connection of a process that dies after some writes. applied reports whether the
// last write is applied.
type mortal struct {
	inner   aws.HTTPClient
	left    int
	applied bool
	life    context.Context
	die     context.CancelFunc
	mu      sync.Mutex
}

var errKilled = errors.New("the process was killed")

func (m *mortal) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	m.mu.Lock()
	dead, last := m.life.Err() != nil, false
	if !dead && (strings.HasPrefix(operation, "Put") || strings.HasPrefix(operation, "Update")) {
		m.left--
		dead = m.left < 0
		last = dead && m.applied
	}
	if dead {
		m.die()
	}
	m.mu.Unlock()
	if dead && !last {
		return nil, errKilled
	}
	response, err := m.inner.Do(r)
	if last && err == nil {
		_ = response.Body.Close()
		return nil, errKilled
	}
	return response, err
}

// runProcess makes a transfer and carries it out, until it is done or the process dies.
func runProcess(t *testing.T, j *entitytest.Journal, m *mortal, transferred Transfer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	config := j.Config
	if m != nil {
		m.life, m.die = ctx, cancel
		m.inner, config.AWS.HTTPClient, config.Retries = config.AWS.HTTPClient, m, 1
	}
	b := open(t.Context(), config)
	defer func() { _ = b.close(context.Background()) }()
	group, err := b.group(projection.Config{
		Name: "bank", ClaimTimeout: 300 * time.Millisecond, RetryShortest: time.Millisecond,
		Source: projection.Sweep(projection.SweepOptions{Every: 10 * time.Millisecond, PerSecond: -1}),
	})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	over, end := context.WithCancel(ctx)
	defer running.Wait()
	defer end()
	err = transfer(ctx, b.accounts, transferred)
	running.Go(func() {
		if err := group.Run(over); err != nil && m == nil {
			t.Error(err)
		}
	})
	if err == nil {
		err = b.waitForTransfers(ctx, transferred.From, transferred.To)
	}
	if err != nil && m == nil {
		t.Error(err)
	}
}

// The process dies at each of its writes. The client sends its request again, and another process
// continues. By default each write is lost in one of the two transfers, and applied in the other.
func TestTransfer_ProcessDies(t *testing.T) {
	t.Parallel()
	const writes = 14 // this many are enough
	every := testsize.Of(2, 1)
	for i, to := range []string{"bob", "carl"} {
		for k, applied := range []bool{false, true} {
			for left := (i + k) % every; left < writes; left += every {
				t.Run(fmt.Sprint(to, left, applied), func(t *testing.T) {
					t.Parallel()
					j := newJournal(t)
					transferred := Transfer{ID: "t-1", From: "anna", To: to, Amount: 30}
					runProcess(t, j, &mortal{left: left, applied: applied}, transferred)
					runProcess(t, j, nil, transferred)
					accounts := openAccounts(t, j)
					if to == "carl" {
						checkBalance(t, accounts, "anna", 100)
						checkBalance(t, accounts, "carl", 0)
						return
					}
					checkBalance(t, accounts, "anna", 70)
					checkBalance(t, accounts, "bob", 30)
				})
			}
		}
	}
}

func TestTransferWithoutMoneyDoesNothing(t *testing.T) {
	t.Parallel()
	r, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	k := entitytest.New(t, accountType, r)
	anna := k.Entity("anna").Given(Received{"t-0", 29})
	if err := transfer(t.Context(), k, example); !errors.Is(err, errInsufficient) {
		t.Errorf("transfer: %v", err)
	}
	anna.Then()
}

// The kit stands in for the accounts of a process.
func TestTransfers_EventsLeadToCommands(t *testing.T) {
	t.Parallel()
	r, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	k := entitytest.New(t, accountType, r)
	anna, carl := k.Entity("anna").Given(Received{"t-0", 70}), k.Entity("carl").Given(Closed{})
	p, err := transfers(k)
	if err != nil {
		t.Fatal(err)
	}
	j := newJournal(t)
	j.Conflict("account|anna", Sent{"t-1", "carl", 30})
	j.Conflict("account|carl", Refused{"t-1", "anna", 30})
	for range 2 { // the events are delivered again
		for _, id := range []string{"account|anna", "account|carl"} {
			if _, err := j.Recover(t.Context(), id, dynajournal.RecoverOptions{}, func(event dynajournal.Event) error {
				return p.Handle(t.Context(), event)
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	carl.Then(Refused{"t-1", "anna", 30})
	anna.Then(Refunded{"t-1", 30})
}

func checkBalance(t *testing.T, accounts *entity.Entities[Account, Event], id string, want int64) {
	t.Helper()
	_, err := accounts.View(t.Context(), id, func(a Account) error {
		if a.Balance != want {
			t.Errorf("%s has %d, want %d", id, a.Balance, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func openAccounts(t *testing.T, j *entitytest.Journal) *entity.Entities[Account, Event] {
	t.Helper()
	accounts, err := entity.Open(j.Journal, accountType, entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = accounts.Close(context.Background()) })
	return accounts
}
