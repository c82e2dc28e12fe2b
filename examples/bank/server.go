package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// Accounts has the methods of entity.Entities that the server needs. The test kit also implements
// it.
type Accounts interface {
	entity.Updater[Account, Event]
	View(ctx context.Context, id string, show func(Account) error, opts ...entity.ViewOption) (int64, error)
}

// handler returns the handler of all requests.
func (s *service) handler() http.Handler {
	mux := accountsMux(s.accounts)
	mux.HandleFunc("GET /accounts/{id}/movements", func(w http.ResponseWriter, r *http.Request) {
		latest, err := s.movements.latest(r.Context(), r.PathValue("id"))
		respond(w, latest, err)
	})
	all := http.NewServeMux()
	all.Handle("/", s.seen.requests(mux))
	all.Handle("GET /metrics", s.seen.metrics())
	all.HandleFunc("GET /ready", s.ready)
	// A restart does not end an outage of DynamoDB, so liveness does not depend on it.
	all.HandleFunc("GET /live", func(http.ResponseWriter, *http.Request) {})
	return all
}

// readyTimeout limits the check of readiness.
const readyTimeout = time.Second

// ready responds with 200 if the journal can be read.
func (s *service) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.journal.Ping(ctx); err != nil {
		http.Error(w, "the journal can't be read", http.StatusServiceUnavailable)
	}
}

// accountsMux returns the handler of the requests for accounts.
func accountsMux(accounts Accounts) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("POST /accounts/{id}/deposit", handle(accounts, deposit))
	mux.Handle("POST /accounts/{id}/withdraw", handle(accounts, withdraw))
	mux.HandleFunc("GET /accounts/{id}", func(w http.ResponseWriter, r *http.Request) {
		var shown Account
		version, err := accounts.View(r.Context(), r.PathValue("id"), func(a Account) error {
			shown = a
			return nil
		})
		respond(w, map[string]int64{"version": version, "balance": shown.Balance}, err)
	})
	return mux
}

// handle runs a command. A client that gets no response sends the request again with the same key,
// and the command is done once. With Fresh, no withdrawal is refused because of a deposit that only
// another process knows of.
func handle(accounts Accounts, command func(tx *entity.Tx[Account, Event], amount int64) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key, request := r.Header.Get("Idempotency-Key"), struct{ Amount int64 }{}
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1000)).Decode(&request)
		if err != nil || key == "" || request.Amount < 1 || request.Amount > 1_000_000_000 {
			http.Error(w, "an Idempotency-Key and an amount from 1 to 1,000,000,000 are required", http.StatusBadRequest)
			return
		}
		receipt, err := accounts.Update(r.Context(), r.PathValue("id"), func(tx *entity.Tx[Account, Event]) error {
			return command(tx, request.Amount)
		}, entity.CommandID(key), entity.Fresh())
		if duplicate, ok := errors.AsType[*entity.DuplicateError](err); ok {
			receipt.Version, err = duplicate.Version, nil
		}
		respond(w, map[string]int64{"version": receipt.Version}, err)
	}
}

// respond writes a body, or the status of an error.
func respond(w http.ResponseWriter, body any, err error) {
	if err != nil {
		http.Error(w, err.Error(), statusOf(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // the client may have gone
}

// statusOf returns the status of an error. After 503 the client sends the request again with the
// same key, because the outcome may not be known. After 500 a retry would fail again.
func statusOf(err error) int {
	switch {
	case errors.Is(err, dynajournal.ErrOutcomeUnknown):
		return http.StatusServiceUnavailable
	case errors.Is(err, errInsufficient):
		return http.StatusConflict
	case errors.Is(err, dynajournal.ErrInvalidArgument):
		return http.StatusBadRequest
	case errors.Is(err, entity.ErrPanic), errors.Is(err, dynajournal.ErrRejected), errors.Is(err, dynajournal.ErrDenied):
		return http.StatusInternalServerError
	}
	return http.StatusServiceUnavailable
}
