package entitytest_test

import "github.com/dynajournal/dynajournal/entity/entitytest"

// A test gives an entity some events, runs a command, and says what it expects. Deviations are
// reported to the test. Here they are printed.
func ExampleKit() {
	t := &printer{} // in a test, its *testing.T
	k := entitytest.New(t, accountType(), exampleRegistry())

	entitytest.When(k.Given(Deposited{100}), withdraw(30)).Then(Withdrawn{30}).Returns(70)
	entitytest.When(k.Given(Deposited{20}), withdraw(30)).Fails(errInsufficient)
	entitytest.When(k.Given(Deposited{100}), withdraw(30)).Returns(80) // it returns 70
	// Output: the command of "test" has returned 70, want 80
}
