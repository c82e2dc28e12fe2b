// Package step3 serves accounts over HTTP. A request that is sent again is done once.
package step3

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/examples/tutorial/step1"
)

// Accounts has the methods of entity.Entities that the handlers need. The test kit also implements
// it.
type Accounts interface {
	entity.Updater[step1.Account, step1.Changed]
	View(ctx context.Context, id string, show func(step1.Account) error, opts ...entity.ViewOption) (int64, error)
}

// NewHandler returns the handler of all requests for accounts.
func NewHandler(accounts Accounts) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /accounts/{id}/deposit", change(accounts, step1.Deposit))
	mux.Handle("POST /accounts/{id}/withdraw", change(accounts, step1.Withdraw))
	mux.HandleFunc("GET /accounts/{id}", func(w http.ResponseWriter, r *http.Request) {
		var shown step1.Account
		version, err := accounts.View(r.Context(), r.PathValue("id"), func(a step1.Account) error {
			shown = a
			return nil
		})
		Respond(w, map[string]int64{"balance": shown.Balance, "version": version}, err)
	})
	return mux
}

// change runs a command. The key of the request is the id of the command: if the client has lost
// the response and sends the request again, it gets the version that the first request has led to.
func change(accounts Accounts, command func(tx *step1.Tx, amount int64) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key, request := r.Header.Get("Idempotency-Key"), struct{ Amount int64 }{}
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1000)).Decode(&request)
		if err != nil || key == "" || request.Amount < 1 || request.Amount > 1_000_000_000 {
			http.Error(w, "an Idempotency-Key and an amount from 1 to 1,000,000,000 are required", http.StatusBadRequest)
			return
		}
		// With Fresh, no withdrawal is refused because of a deposit that only another process knows
		// of.
		receipt, err := accounts.Update(r.Context(), r.PathValue("id"), func(tx *step1.Tx) error {
			return command(tx, request.Amount)
		}, entity.CommandID(key), entity.Fresh())
		if duplicate, ok := errors.AsType[*entity.DuplicateError](err); ok {
			receipt.Version, err = duplicate.Version, nil
		}
		Respond(w, map[string]int64{"version": receipt.Version}, err)
	}
}

// Respond writes a body, or the status of an error.
func Respond(w http.ResponseWriter, body any, err error) {
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
	case errors.Is(err, step1.ErrInsufficient):
		return http.StatusConflict
	case errors.Is(err, dynajournal.ErrInvalidArgument):
		return http.StatusBadRequest
	case errors.Is(err, entity.ErrPanic), errors.Is(err, dynajournal.ErrRejected), errors.Is(err, dynajournal.ErrDenied):
		return http.StatusInternalServerError
	}
	return http.StatusServiceUnavailable
}
