// Package entity hosts entities, such as accounts, orders or devices. The state of an entity is
// computed from its events, which are stored in a journal under one persistence id. A command is a
// function that reads the state and records events. Its caller gets the result when the events are
// durable.
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
// A command may run several times, like a transaction that a database retries: after a conflict
// with another process, after a failed write of events that it has read, or after a lost response.
// Only its last run counts. So a command must not have side effects: it must not send, store or
// count anything outside its Tx. If it assigns to variables outside, it must assign them in every
// run. It runs in its caller's goroutine, and never after the call has returned.
//
// # Guarantees
//
// Commands of one entity are decided one after the other, in the order of their calls. Entities are
// independent of each other.
//
// While a write is in flight, the next commands are decided on the state that the write will
// produce. When the write is durable, their events are sent together as one atomic write. A command
// returns when its events are durable. A command that recorded no events returns when the events
// that it has read are durable. A command that is alone does not wait for others.
//
// If another writer was faster, the commands of the write, and the commands that were decided on
// their events, are decided again on the stored state. If a write fails, its commands get the
// error, and the commands that were decided on their events are decided again. If a response is
// lost, the entity finds out whether its events are stored before it continues.
//
// [Entities.View] shows only durable state. A command that records nothing is decided on the state
// in memory, which may lack events of other processes, unless [Fresh] is given.
//
// # States
//
// An entity that needs no history can be stored as its state, without events: see [OpenStates]. A
// command then records the next state. All of the above applies.
package entity

// For maintainers: the states of a command and of an entity.
//
// A command has a phase (command.go). Its caller moves it out of granted and sending. A job, or the
// caller of another command, moves it out of queued and decided.
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
// A caller whose context ends leaves its command. A queued command is then dropped, and so is a
// decided command whose write was not sent yet. A write in flight continues without the caller.
// tryAtOnce decides a command without options in the caller's goroutine, before the command is ever
// queued.
//
// An entity has at most one job (busy), which owns its durable state. advance starts the job that
// is due:
//
//	load      loads the state, if it is not known (loaded) or was given up (reload)
//	writeAll  sends the pending writes, one after the other, and settles each
//
// The caller of a command that is alone performs the write itself (own_write.go), and hands it over
// to a job if the write does not succeed at once. A write is first in pending, then in writing. Its
// outcome advances durable, fails its commands or sends them back (handleOutcome in write.go).
// epoch counts how often commands were sent back. A decision made in an earlier epoch is discarded.
