package entitytest_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"testing"

	"github.com/dynajournal/dynajournal/serialization"
)

// printer stands in for the *testing.T of a test, which an example does not have. It prints the
// reports.
type printer struct {
	testing.TB

	cleanups []func()
}

func (*printer) Helper() {}

func (*printer) Context() context.Context { return context.Background() }

func (*printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (*printer) Fatal(args ...any) { log.Fatal(args...) }

func (*printer) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

func (p *printer) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

// end runs the cleanups.
func (p *printer) end() {
	for _, f := range slices.Backward(p.cleanups) {
		f()
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// exampleRegistry returns a registry with the events and the state of an account.
func exampleRegistry() *serialization.Registry {
	r := serialization.NewRegistry()
	check(serialization.JSON[Deposited](r, "deposited"))
	check(serialization.JSON[Withdrawn](r, "withdrawn"))
	check(serialization.JSON[Account](r, "account"))
	return r
}
