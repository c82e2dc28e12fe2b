package entitytest_test

import (
	"fmt"
	"strings"

	"github.com/dynajournal/dynajournal/entity/entitytest"
)

// The kit finds that Evolve changes a map in the state that it is given. Entities would show such a
// change before it is stored, and would retain it even if it is never stored.
func ExampleNew_purity() {
	t := &reports{}
	kind := accountType()
	kind.Evolve = inPlace
	k := entitytest.New(t, kind, exampleRegistry())
	k.Given(Deposited{100})
	fmt.Println("reported:", strings.Contains(t.text, "Copy"))

	t = &reports{}
	kind.Copy = Account.clone
	k = entitytest.New(t, kind, exampleRegistry())
	k.Given(Deposited{100})
	fmt.Println("with Copy:", t.text == "")
	// Output:
	// reported: true
	// with Copy: true
}

// reports stands in for the *testing.T of a test. It records the reports.
type reports struct {
	printer

	text string
}

func (r *reports) Errorf(format string, args ...any) { r.text += fmt.Sprintf(format, args...) }
