//go:build long

package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
)

func newKit(t *testing.T) *entitytest.Kit[Account, Event] {
	t.Helper()
	r, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	return entitytest.New(t, accountType, r)
}

func TestCommandsOfAnAccount(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	run := func(command func(*entity.Tx[Account, Event], int64) error, amount int64) func(*entity.Tx[Account, Event]) error {
		return func(tx *entity.Tx[Account, Event]) error { return command(tx, amount) }
	}
	k.Given().When(run(deposit, 5)).Then(Deposited{5}).ThenState(Account{5})
	k.Given(Deposited{5}).When(run(withdraw, 5)).Then(Withdrawn{5}).ThenState(Account{0})
	k.Given(Deposited{5}).When(run(withdraw, 6)).Fails(errInsufficient)
}

// call sends a request, and returns the status and the body.
func call(h http.Handler, method, path, key, body string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestRequestsOfTheServer(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	h := accountsMux(k)
	for _, c := range []struct {
		method, path, key, body string
		status                  int
		want                    string
	}{
		{"GET", "/accounts/anna", "", "", 200, `{"balance":0,"version":0}`},
		{"POST", "/accounts/anna/deposit", "1", `{"amount": 500}`, 200, `{"version":1}`},
		{"POST", "/accounts/anna/withdraw", "2", `{"amount": 200}`, 200, `{"version":2}`},
		{"POST", "/accounts/anna/deposit", "1", `{"amount": 500}`, 200, `{"version":1}`}, // again
		{"POST", "/accounts/anna/withdraw", "3", `{"amount": 301}`, 409, errInsufficient.Error()},
		{"GET", "/accounts/anna", "", "", 200, `{"balance":300,"version":2}`},
		{"POST", "/accounts/a%7Cb/deposit", "4", `{"amount": 1}`, 400, ""},
		{"POST", "/accounts/anna/deposit", "", `{"amount": 1}`, 400, ""},
		{"POST", "/accounts/anna/deposit", "5", `{"amount": 0}`, 400, ""},
		{"POST", "/accounts/anna/deposit", "5", `{"amount": 1000000001}`, 400, ""},
		{"POST", "/accounts/anna/deposit", "5", `{`, 400, ""},
		{"POST", "/accounts/anna/deposit", "5", strings.Repeat(" ", 1001) + `{"amount": 1}`, 400, ""},
	} {
		status, body := call(h, c.method, c.path, c.key, c.body)
		if status != c.status || c.want != "" && body != c.want {
			t.Errorf("%s %s %.30s: %d %s, want %d %s", c.method, c.path, c.body, status, body, c.status, c.want)
		}
	}
	k.Entity("anna").Then(Deposited{500}, Withdrawn{200})
}

func TestStatusOfErrors(t *testing.T) {
	t.Parallel()
	for status, errs := range map[int][]error{
		http.StatusBadRequest:          {dynajournal.ErrInvalidArgument},
		http.StatusConflict:            {errInsufficient},
		http.StatusInternalServerError: {entity.ErrPanic, dynajournal.ErrRejected, dynajournal.ErrDenied},
		http.StatusServiceUnavailable: {
			entity.ErrBusy, dynajournal.ErrThrottled, context.DeadlineExceeded,
			errors.Join(dynajournal.ErrOutcomeUnknown, dynajournal.ErrDenied),
		},
	} {
		for _, err := range errs {
			if got := statusOf(err); got != status {
				t.Errorf("%v: status %d, want %d", err, got, status)
			}
		}
	}
}

// A client that gets 503 sends the request again. In the end its command is done once.
func TestServerOnAJournalThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the attempts take seconds
		r, err := registry()
		if err != nil {
			t.Fatal(err)
		}
		j := entitytest.OpenJournal(t, r)
		accounts, err := entity.Open(j.Journal, accountType, entity.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := accounts.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		h := accountsMux(accounts)
		for i, failure := range []func() func(){j.Throttle, j.LoseRequests, j.LoseResponses} {
			key, wanted := string(rune('a'+i)), http.StatusServiceUnavailable
			stop := failure()
			if i == 2 {
				wanted = http.StatusOK // the events are found
			}
			if status, body := call(h, "POST", "/accounts/anna/deposit", key, `{"amount": 1}`); status != wanted {
				t.Errorf("failure %d: %d %s", i, status, body)
			}
			stop()
			if status, body := call(h, "POST", "/accounts/anna/deposit", key, `{"amount": 1}`); status != http.StatusOK {
				t.Errorf("after failure %d: %d %s", i, status, body)
			}
		}
		j.Conflict("account|anna", Deposited{10})
		if status, body := call(h, "POST", "/accounts/anna/withdraw", "d", `{"amount": 13}`); status != http.StatusOK {
			t.Errorf("after a conflict: %d %s", status, body)
		}
		if status, body := call(h, "GET", "/accounts/anna", "", ""); status != http.StatusOK || !strings.HasPrefix(body, `{"balance":0,`) {
			t.Errorf("%d %s", status, body)
		}
		if err := accounts.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if status, body := call(h, "POST", "/accounts/anna/deposit", "e", `{"amount": 1}`); status != http.StatusServiceUnavailable {
			t.Errorf("closed: %d %s", status, body)
		}
	})
}
