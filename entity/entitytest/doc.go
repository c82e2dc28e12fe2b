// Package entitytest tests entities of package entity: their commands without a journal, and whole
// services on a journal that fails on demand.
//
//	k := entitytest.New(t, accountType, registry)
//	entitytest.When(k.Given(Deposited{100}), withdraw(10)).Then(Withdrawn{10}).Returns(90)
//	entitytest.When(k.Given(Deposited{5}), withdraw(10)).Fails(ErrInsufficient)
//	k.Given().When(closeAccount).Then(Closed{})
//
// As in package entity, a function runs a command with a result, because methods of Go have no type
// parameters: [When] is to [Entity.When] what entity.Do is to Update. So the compiler knows the
// type of what Returns compares.
//
// A [Kit] is an [entity.Updater]: code that takes one is tested with it.
//
//	k.Entity("anna").Given(Deposited{100})
//	err := transfer(ctx, k, "anna", "bob", 30)
//	k.Entity("anna").Then(Sent{30})
//	k.Entity("bob").Then(Received{30})
//
// # Automatic checks
//
// A kit checks the following for each command, and for the events of Given:
//
//   - Each event is the same after encoding and decoding it with the registry. So is each state, if
//     the type saves snapshots or its state is registered.
//   - The events lead to the same state when they are replayed, as they are when an entity is
//     loaded.
//   - Evolve does not change the state that it is given. If Type.Copy is set, Evolve may do so, but
//     the copy must not share anything that Evolve changes.
//   - Initial returns states that do not share anything that Evolve changes.
//   - The command does not change the state of its Tx, and does the same when it runs again: the
//     kit runs each command twice, as entities may do. So a value that differs in each run, such as
//     a new id, must be created outside the command, and the time must come from Tx.Now.
//   - The command does not run other commands.
//
// Values are the same if all their fields are the same, including unexported fields. A nil slice is
// the same as an empty one, but a nil map is not the same as an empty map, because only an empty
// map can be written to. Times are the same if they are the same instant.
//
// # A journal
//
// [OpenJournal] opens a journal in memory, for tests of code that needs one: entities, projections,
// servers. On demand, another writer is faster, responses are lost, and requests are throttled or
// slow.
package entitytest
