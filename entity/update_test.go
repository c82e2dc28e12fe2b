package entity_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

func TestCommandRecordsEventsAndGivesItsResult(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a := b.accounts()
	var receipt entity.Receipt
	if got := do(t, a, "anna", deposit(30), entity.Into(&receipt)); got != 30 || receipt.Version != 1 || receipt.Events != 1 {
		t.Errorf("got %d, %+v; want 30 with version 1", got, receipt)
	}
	if got := do(t, a, "anna", withdraw(10), entity.Into(&receipt)); got != 20 || receipt.Version != 2 {
		t.Errorf("got %d, %+v; want 20 with version 2", got, receipt)
	}
	if _, err := entity.Do(t.Context(), a, "anna", withdraw(100)); err != errInsufficient { //nolint:errorlint // as it is
		t.Errorf("the error is %v, want the command's", err)
	}
	if got, version := view(t, a, "anna"); got != 20 || version != 2 {
		t.Errorf("View shows %d at %d, want 20 at 2", got, version)
	}
	for e, err := range b.Journal().Events(t.Context(), "account|anna", dynajournal.Range{}) {
		if err != nil || e.Time.IsZero() {
			t.Errorf("event %+v, %v", e, err)
		}
	}
}

func TestAnotherProcessSeesWhatWasWritten(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	one, two := b.accounts(), b.accounts()
	for i := range 10 {
		do(t, one, "anna", deposit(1))
		if got, version := view(t, two, "anna"); got != 2*i+1 || version != int64(2*i+1) {
			t.Fatalf("the other shows %d at %d, want %d", got, version, 2*i+1)
		}
		if got := do(t, two, "anna", deposit(1)); got != 2*i+2 {
			t.Fatalf("the other has %d, want %d", got, 2*i+2)
		}
	}
}

// Commands of many callers, on two processes: each is done once, and the balance never falls below
// zero.
func TestCommandsOfManyCallersAreDoneOnce(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]dynajournal.TableOptions{"native": {}, "shared": {SharedWithJVM: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options)
			hosts := []*accounts{
				b.open(b.Journal(), accountType(), entity.Options{Attempts: 1000}),
				b.open(b.Journal(), accountType(), entity.Options{Attempts: 1000}),
			}
			var deposits, withdrawals atomic.Int64
			var wg sync.WaitGroup
			for c := range 16 {
				wg.Go(func() {
					for i := range 20 {
						host := hosts[c%2]
						if c%4 < 2 {
							if _, err := entity.Do(t.Context(), host, "anna", deposit(1)); err != nil {
								t.Error(err)
								return
							}
							deposits.Add(1)
							continue
						}
						switch left, err := entity.Do(t.Context(), host, "anna", withdraw(i%3)); {
						case err == nil:
							withdrawals.Add(int64(i % 3))
							if left < 0 {
								t.Errorf("%d are left", left)
							}
						case !errors.Is(err, errInsufficient):
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			for _, host := range hosts {
				if got, _ := view(t, host, "anna"); int64(got) != deposits.Load()-withdrawals.Load() {
					t.Errorf("the balance is %d, want %d - %d", got, deposits.Load(), withdrawals.Load())
				}
			}
		})
	}
}
