// Package journaltest is a conformance suite for journals: whoever passes it keeps the promises that an event-sourced entity
// builds on. Two writers never both succeed, an acknowledged event is never lost or hidden, an atomic write is there wholly
// or not at all, a replay returns exactly the events of its window, and numbers are never given twice.
//
// A journal is tested through the small interfaces Journal and Writer; Adapt makes them from a *dynajournal.Journal. Cases
// that plant damage (a crashed deletion, a hole, a lost mark) need the table behind the journal, and are skipped, by name
// and with the reason, where there is none. A journal that has no atomic writes of several events says so in
// Suite.NoAtomicWrites; any other case that it can't have is named in Suite.Skip, with the reason:
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
