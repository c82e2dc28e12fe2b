//go:build long

// Without the tag the program is compiled, but not run, because linking a test program for each
// example takes long.

package main

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/entity/entitytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	main()
	// Output:
	// phone: allowed false
	// laptop: allowed true
	// erased, events left: 0
	// laptop: allowed false
	// tablet: allowed true
	// laptop: allowed false
	// the id is used again, from event 5
}

func TestSessionEnds(t *testing.T) {
	t.Parallel()
	r, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	k := entitytest.New(t, userType, r)
	now := k.Now()
	user := k.Given()
	user.When(logIn("phone", "192.0.2.7")).Then(LoggedIn{"phone", "192.0.2.7", now.Add(sessionTime)})
	k.SetTime(now.Add(sessionTime - time.Second))
	user.When(authorize("phone")).Then()
	user.When(authorize("laptop")).Fails(errNoSession)
	k.SetTime(now.Add(sessionTime))
	user.When(authorize("phone")).Fails(errNoSession)
	user.When(logOut("laptop")).Then()
	user.When(logOut("phone")).Then(LoggedOut{"phone"})
}
