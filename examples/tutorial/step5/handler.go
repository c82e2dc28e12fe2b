package step5

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/examples/tutorial/step3"
	"github.com/dynajournal/dynajournal/projection"
)

// longestWait limits the wait for a version that the account may never reach.
const longestWait = 5 * time.Second

// NewHandler returns the handler of requests for accounts and for all balances. A client that has
// changed an account sends the name of the account and the version from the response, and then sees
// its change in the balances.
func NewHandler(journal *dynajournal.Journal, accounts step3.Accounts, group *projection.Group, balances *Balances) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/accounts/", step3.NewHandler(accounts))
	mux.HandleFunc("GET /balances", func(w http.ResponseWriter, r *http.Request) {
		if account := r.FormValue("account"); account != "" {
			version, err := strconv.ParseInt(r.FormValue("version"), 10, 64)
			if err != nil || version < 0 {
				http.Error(w, "the version of the account is required", http.StatusBadRequest)
				return
			}
			group.Trigger(idPrefix + account) // the stream would find them a moment later
			ctx, cancel := context.WithTimeout(r.Context(), longestWait)
			defer cancel()
			if err := projection.WaitFor(ctx, journal, "bank/balances", idPrefix+account, version); err != nil {
				step3.Respond(w, nil, err)
				return
			}
		}
		all, err := balances.List(r.Context())
		step3.Respond(w, all, err)
	})
	return mux
}
