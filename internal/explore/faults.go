package explore

import "github.com/dynajournal/dynajournal/embedded"

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
