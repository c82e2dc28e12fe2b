package entitytest

import (
	"github.com/dynajournal/dynajournal/entity"
)

// decideTwice decides a command twice on the same state, as entities may do, and reports impure
// functions: a command or an Evolve that changes its argument, or a second run that differs from
// the first one. It returns the decision of the first run. pure means that nothing was reported.
// The caller holds mu.
func (k *Kit[S, E]) decideTwice(
	id string, h *history[S, E], command func(*entity.Tx[S, E]) error,
) (first entity.Decision[S, E], pure bool, err error) {
	k.t.Helper()
	first, wrong, err := k.decideOnce(id, h, command)
	if wrong {
		return first, false, err
	}
	second, wrong, again := k.decideOnce(id, h, command)
	switch {
	case wrong:
		return first, false, err
	case (err == nil) != (again == nil) || err != nil && err.Error() != again.Error():
		k.t.Errorf("the command of %q has another error when it runs again: %v, then %v. It must be a function of its Tx alone",
			id, err, again)
	case dumpAll(first.Events) != dumpAll(second.Events):
		k.t.Errorf("the command of %q records other events when it runs again: %s, then %s. It must be a function of its Tx alone",
			id, dumpAll(first.Events), dumpAll(second.Events))
	case !same(first.State, second.State):
		k.t.Errorf("Evolve of %q is not pure: the same events lead to %s, then to %s", id, dump(first.State), dump(second.State))
	default:
		return first, true, err
	}
	return first, false, err
}

// decideOnce decides a command. wrong means that the command, Evolve or Copy has broken a rule, and
// that this was reported.
func (k *Kit[S, E]) decideOnce(
	id string, h *history[S, E], command func(*entity.Tx[S, E]) error,
) (decision entity.Decision[S, E], wrong bool, err error) {
	k.t.Helper()
	w := &watch[S, E]{kit: k, id: id, given: h.state, before: dump(h.state)}
	w.last = w.before
	kind := k.kind
	kind.Evolve = w.evolve
	if kind.Copy != nil {
		kind.Copy = w.copy
	}
	decision, err = entity.Decide(kind, id, h.state, h.version(), k.now, func(tx *entity.Tx[S, E]) error {
		err := command(tx)
		w.commandRan(tx.State())
		return err
	})
	return decision, w.wrong, err
}

// watch watches the states that a command is given.
type watch[S, E any] struct {
	kit *Kit[S, E]
	id  string
	// given is the shared state. before is its text at the start.
	given  S
	before string
	// last is the text of the state that the command was last given.
	last string
	// wrong reports that a problem was reported. Further problems would be consequences of it.
	wrong bool
}

// commandRan checks that the command has changed neither the state that it was given at first nor
// state, which Evolve has returned.
func (w *watch[S, E]) commandRan(state S) {
	w.kit.t.Helper()
	if dump(w.given) != w.before || dump(state) != w.last {
		w.report("the command of %q has changed the state of its Tx: %s became %s. It must record events instead",
			w.id, w.last, dump(state))
	}
}

// copy calls Type.Copy, and checks that the copy is the same as the original.
func (w *watch[S, E]) copy(state S) S {
	w.kit.t.Helper()
	w.commandRan(state)
	copied := w.kit.kind.Copy(state)
	if !same(copied, state) {
		w.report("Type.Copy of %q returns %s for %s", w.id, dump(copied), dump(state))
	}
	w.last = dump(copied)
	return copied
}

// evolve calls Evolve, and checks that it changes only what it may.
func (w *watch[S, E]) evolve(state S, event E) S {
	w.kit.t.Helper()
	w.commandRan(state)
	argument := dump(state)
	after := w.kit.kind.Evolve(state, event)
	switch {
	case w.kit.kind.Copy == nil && dump(state) != argument:
		w.report("Evolve of %q has changed the state that it was given, at %s: %s became %s. Return a changed copy, or set Type.Copy",
			w.id, dump(event), argument, dump(state))
	case dump(w.given) != w.before:
		w.report("Type.Copy of %q returns a copy that shares data with the original, and Evolve changes this data, at %s: %s became %s",
			w.id, dump(event), w.before, dump(w.given))
	}
	w.last = dump(after)
	return after
}

// report reports the first problem.
func (w *watch[S, E]) report(format string, args ...any) {
	w.kit.t.Helper()
	if !w.wrong {
		w.wrong = true
		w.kit.t.Errorf(format, args...)
	}
}
