// Package entity hosts entities whose state follows from their events: accounts, orders, devices.
// Each is one persistence id of a journal. A command is a function of the state: it looks at the
// state, records events, and its result comes when the events are durable.
//
//	withdraw := func(tx *entity.Tx[Account, Event]) (int, error) {
//		if tx.State().Balance < 10 {
//			return 0, ErrInsufficient // nothing is written
//		}
//		tx.Record(Withdrawn{Amount: 10})
//		return tx.State().Balance, nil
//	}
//	balance, err := entity.Do(ctx, accounts, "anna", withdraw)
//
// A command may run several times, like a transaction that a database repeats: after a conflict
// with another process, after a write has failed below it, after a lost response. Only its last run
// counts. So it must not have effects of its own: it must not send, store or count anything outside
// of its Tx, and what it assigns to variables outside it must assign at every run. It runs in the
// goroutine of its caller, and never after the call has returned.
//
// # What holds
//
// Commands of one entity are decided one after the other, in the order of their calls. Entities are
// independent of each other.
//
// While a write is under way, the next commands are decided on the state that it will make. Their
// events leave together, as one atomic write, when it is durable. A command gets its result when
// its events are durable; if it recorded none, when the events that it has read are. A command that
// is alone waits for nothing.
//
// If another writer was faster, the commands of the write, and those that were decided on them, are
// decided again on what the journal holds. If a write fails, its commands get the error, and those
// that were decided on them are decided again. If a response is lost, the entity finds out whether
// its events are stored before it continues.
//
// [Entities.View] shows durable state alone. A command that records nothing answers from what this
// process knows, unless [Fresh] is given.
//
// # States
//
// What needs no history can be stored as its state, without events: see [OpenStates]. A command
// records the next state, and all of the above holds.
package entity

// For maintainers: the states of a command and of an entity.
//
// A command has a phase (command.go). Its caller moves it from granted, a job from the others.
//
//	           enqueue           grant             place               takeOwn
//	Update ──────────▶ queued ─────────▶ granted ─────────▶ decided ─────────▶ sending
//	                     ▲                  │                │  │  ▲              │
//	                     │   another epoch  │                │  │  └── handOver ──┤
//	                     ├──────────────────┤                │  │                 │
//	                     └───────── sendBack ────────────────┘  │                 │
//	                                        │                   │                 │
//	                                        └──────── end ──────┴─────────────────┘
//	                                                   │
//	                                                   ▼
//	                                                 ended
//
// A caller whose context ends leaves: a command that is queued is left, one that is decided is
// written without its caller. tryAtOnce decides a command without options in the caller's goroutine
// before it is ever queued.
//
// An entity has at most one job (busy), which owns its durable state. advance starts the job that
// is due:
//
//	load      the state is not known (loaded) or was given up (reload): it finds the state
//	writeAll  writes are pending: it sends one after the other, and settles each
//
// The caller of a command that is alone does the job of its own write (own_write.go), and hands it
// over to a goroutine when the write does not succeed at once. A write is pending, then writing.
// Its outcome moves durable, or sends its commands back (settle in write.go). epoch counts how
// often commands were sent back: what a command decides in an earlier epoch does not count.
