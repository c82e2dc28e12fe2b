// Package journaltest is a conformance suite for journals. A journal that passes it gives the
// guarantees that an event-sourced entity relies on: two writers never both succeed, an
// acknowledged event is never lost or hidden, an atomic write is visible as a whole or not at all,
// a replay returns exactly the events of its window, and no sequence number is used twice.
//
// The suite tests a journal through the small interfaces Journal and Writer. [Adapt] implements
// them for a *dynajournal.Journal. Cases with damaged items (an interrupted deletion, a hole, a
// lost mark) need the table of the journal. Without the table they are skipped, and the test prints
// their names and the reason. A journal without atomic writes of several events sets
// Suite.NoAtomicWrites. Suite.Skip names other cases that it can't pass, with the reason:
//
//	func TestJournal(t *testing.T) {
//		journaltest.Run(t, journaltest.Suite{
//			Open: func(tb testing.TB) journaltest.Store {
//				db := openEmptyDatabase(tb)
//				return journaltest.Store{
//					Connect: func(tb testing.TB) journaltest.Journal { return connect(tb, db) },
//				}
//			},
//			IsConflict: func(err error) bool { return errors.Is(err, mine.ErrConflict) },
//			IsRejected: func(err error) bool { return errors.Is(err, mine.ErrTooLarge) },
//		})
//	}
package journaltest
