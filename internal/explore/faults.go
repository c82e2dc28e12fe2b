package explore

import (
	"iter"

	"github.com/dynajournal/dynajournal/embedded"
)

// RequestFaults are the faults that a request can have, in the engine's notation: all its effects.
// Stale reads are not among them, because they do not concern one request: see StaleFaults.
var RequestFaults = parsed(
	"throughput-exceeded", "throttling", "request-limit", "expired-token",
	"internal-error", "internal-error,applied", "unavailable", "unavailable,applied",
	"reset", "reset,applied", "truncated", "garbage",
	"slow,delay=2s", "slow,delay=6s", "slow,applied,delay=6s", "hang", "hang,applied",
	"unprocessed", "unprocessed,some", "transaction-conflict",
	"statement-errors", "statement-errors,some", "statement-errors,some,applied,code=InternalServerError",
)

// StaleFaults are the faults that make indexes return old data.
var StaleFaults = parsed("index-lag,delay=5s", "stale-read,delay=30s")

func parsed(texts ...string) []embedded.Fault {
	faults := make([]embedded.Fault, len(texts))
	for i, text := range texts {
		f, err := embedded.ParseFault(text)
		if err != nil {
			panic(err)
		}
		faults[i] = f
	}
	return faults
}

// CanHit reports whether a fault has an effect on an operation.
func CanHit(f *embedded.Fault, operation string) bool {
	switch f.Effect {
	case embedded.EffectUnprocessed:
		return operation == "BatchGetItem" || operation == "BatchWriteItem"
	case embedded.EffectStatementErrors:
		return operation == "BatchExecuteStatement"
	case embedded.EffectTransactionConflict:
		return operation == "PutItem" || operation == "UpdateItem" || operation == "DeleteItem"
	}
	return true
}

// InjectAll injects faults into the requests of an engine, until remove is called.
func InjectAll(engine *embedded.Engine, faults []embedded.Fault) (remove func(), err error) {
	var removes []func()
	remove = func() {
		for _, remove := range removes {
			remove()
		}
	}
	for _, f := range faults {
		one, err := engine.Inject(f)
		if err != nil {
			remove()
			return nil, err
		}
		removes = append(removes, one)
	}
	return remove, nil
}

// Injected returns the faults that requests of an engine have had, in the engine's notation,
// without their limits and probabilities.
func Injected(engine *embedded.Engine) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, i := range engine.Injected() {
			i.Fault.Times, i.Fault.Probability = 0, 0
			if !yield(i.Fault.String()) {
				return
			}
		}
	}
}
