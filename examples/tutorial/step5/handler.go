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

// longestWait bounds the wait for a version, which the account may never have.
const longestWait = 5 * time.Second

// NewHandler returns the handler of requests for accounts and for all balances. Whoever has changed
// an account sends its name and the version of the answer, and sees that change in the balances.
func NewHandler(journal *dynajournal.Journal, accounts step3.Accounts, group *projection.Group, balances *Balances) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/accounts/", step3.NewHandler(accounts))
	mux.HandleFunc("GET /balances", func(w http.ResponseWriter, r *http.Request) {
		if account := r.FormValue("account"); account != "" {
			version, err := strconv.ParseInt(r.FormValue("version"), 10, 64)
			if err != nil || version < 0 {
				http.Error(w, "it needs the version of the account", http.StatusBadRequest)
				return
			}
			group.Trigger(idPrefix + account) // else the stream finds the events a moment later
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
