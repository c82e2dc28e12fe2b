package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/examples/tutorial/step1"
	"github.com/dynajournal/dynajournal/examples/tutorial/step3"
)

func TestRequestsForAccounts(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	handler := step3.NewHandler(k)
	for _, c := range []struct {
		path, key, body string
		status          int
		want            string
	}{
		{"anna/deposit", "1", `{"amount": 12}`, 200, `{"version":1}`},
		{"anna/deposit", "1", `{"amount": 12}`, 200, `{"version":1}`}, // again
		{"anna/withdraw", "2", `{"amount": 13}`, 409, step1.ErrInsufficient.Error()},
		{"anna/withdraw", "3", `{"amount": 12}`, 200, `{"version":2}`},
		{"a%7Cb/deposit", "4", `{"amount": 1}`, 400, ""},
		{"anna/deposit", "", `{"amount": 1}`, 400, ""},
		{"anna/deposit", "5", `{"amount": 0}`, 400, ""},
		{"anna/deposit", "5", `{"amount": 1000000001}`, 400, ""},
		{"anna/deposit", "5", `{`, 400, ""},
		{"anna/deposit", "5", strings.Repeat(" ", 1001) + `{"amount": 1}`, 400, ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/accounts/"+c.path, strings.NewReader(c.body))
		r.Header.Set("Idempotency-Key", c.key)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if got := strings.TrimSpace(w.Body.String()); w.Code != c.status || c.want != "" && got != c.want {
			t.Errorf("%s %s %.30s: %d %s, want %d %s", c.path, c.key, c.body, w.Code, got, c.status, c.want)
		}
	}
	k.Entity("anna").Then(step1.Changed{By: 12}, step1.Changed{By: -12})
}
