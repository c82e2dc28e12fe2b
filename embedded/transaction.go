package embedded

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

const (
	maxActions = 100
	// maxTransaction is the size limit, in bytes, of the items that a transaction reads, and of the
	// items, keys and values of a transaction that writes.
	maxTransaction = 4 << 20

	repeatedItem    = "Transaction request cannot include multiple operations on one item"
	requestTooLarge = "Transaction payload size cannot exceed 4MB"
	itemsTooLarge   = "Transaction request size exceeds the limit: the aggregate size of the items in the transaction " +
		"cannot exceed 4 MB"

	codeNone = "None"
)

// actions checks the number of actions of a transaction.
func (c *constraints) actions(given bool, n int, member string) {
	c.required(given, member)
	if given {
		c.length(n, counted(n, "actions"), member, 1, maxActions)
	}
}

// distinct refuses two actions on one item.
func distinct(changes []*change) error {
	seen := make(map[string]struct{}, len(changes))
	for _, ch := range changes {
		if ch == nil {
			continue
		}
		if _, duplicate := seen[string(ch.storageKey)]; duplicate {
			return invalid(repeatedItem)
		}
		seen[string(ch.storageKey)] = struct{}{}
	}
	return nil
}

// cancellationReasons has a reason for each action of a transaction, with the code None for actions
// that did not fail.
type cancellationReasons []cancellationReason

func newReasons(n int) cancellationReasons {
	r := make(cancellationReasons, n)
	for i := range r {
		r[i].code = codeNone
	}
	return r
}

// note sets the reason of action i. It returns the error if it can't be the reason of an action.
func (r cancellationReasons) note(i int, err error) error {
	api := asAPIError(err)
	switch api.name() {
	case "ConditionalCheckFailedException":
		r[i] = cancellationReason{code: "ConditionalCheckFailed", message: api.message, item: api.item}
	case "ValidationException":
		r[i] = cancellationReason{code: "ValidationError", message: api.message}
	case "DuplicateItemException":
		r[i] = cancellationReason{code: "DuplicateItem", message: api.message, item: api.item}
	case "ProvisionedThroughputExceededException":
		r[i] = cancellationReason{code: "ProvisionedThroughputExceeded", message: api.message}
	case "ThrottlingException":
		r[i] = cancellationReason{code: "ThrottlingError", message: api.message}
	default:
		return err
	}
	return nil
}

// err returns the error that cancels the transaction, or nil if no action failed.
func (r cancellationReasons) err() error {
	cancelled := false
	codes := make([]string, len(r))
	for i := range r {
		codes[i] = r[i].code
		cancelled = cancelled || r[i].code != codeNone
	}
	if !cancelled {
		return nil
	}
	err := dynamoError("TransactionCanceledException",
		"Transaction cancelled, please refer cancellation reasons for specific reasons ["+strings.Join(codes, ", ")+"]")
	err.reasons = r
	return err
}

// transact makes all changes, or returns the error that cancels the transaction. A repeated request
// makes no changes and reads the items. transact returns the consumption.
func (e *Engine) transact(
	changes []*change, reasons cancellationReasons, tables map[string]*table, token *requestToken,
) ([]consumption, error) {
	used := doubledConsumption(tables)
	repeated, err := e.commitTransaction(changes, reasons, used, token)
	if err != nil {
		return nil, err
	}
	if repeated {
		return e.readAgain(changes, doubledConsumption(tables))
	}
	return used, nil
}

// commitTransaction makes all changes, or none if one of them fails. Actions that have failed
// already have no change. The token, if there is one, is stored with the changes. If it was used
// before, repeated is true and nothing is changed.
func (e *Engine) commitTransaction(
	changes []*change, reasons cancellationReasons, used []consumption, token *requestToken,
) (repeated bool, err error) {
	if err := distinct(changes); err != nil {
		return false, err
	}
	keys := make([][]byte, 0, len(changes)+1)
	for _, ch := range changes {
		if ch != nil {
			keys = append(keys, ch.storageKey)
		}
	}
	if token != nil {
		keys = append(keys, token.key())
	}
	defer e.locks.lockAll(keys)()
	if repeated, err := e.tokenUsed(token); repeated || err != nil {
		return repeated, err
	}
	defer func() {
		for i := range used {
			used[i].charge()
		}
	}()
	batch := e.store.NewBatch()
	done, err := e.stageAll(batch, changes, reasons, used)
	if err != nil {
		return false, joinClose(err, discarding{batch})
	}
	if err := e.storeToken(batch, token); err != nil {
		return false, joinClose(err, discarding{batch})
	}
	if err := e.commit(batch, changes, done); err != nil {
		return false, fmt.Errorf("committing a transaction: %w", err)
	}
	return false, nil
}

// stageAll stages the changes and returns their outcomes, or the error that cancels the
// transaction.
func (e *Engine) stageAll(
	batch *storage.Batch, changes []*change, reasons cancellationReasons, used []consumption,
) ([]outcome, error) {
	done := make([]outcome, len(changes))
	for i, ch := range changes {
		if ch == nil {
			continue
		}
		var err error
		done[i], err = e.stage(batch, ch, consumptionOf(used, ch.table))
		if err != nil {
			if err = reasons.note(i, err); err != nil {
				return nil, err
			}
		}
	}
	if err := reasons.err(); err != nil {
		return nil, err
	}
	return done, nil
}

// doubledConsumption returns the consumption of a transaction, initially zero, for each table in
// the order of their names.
func doubledConsumption(tables map[string]*table) []consumption {
	var used []consumption
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if consumptionOf(used, tables[name]) == nil {
			used = append(used, consumption{table: tables[name], doubled: true})
		}
	}
	return used
}

// readAgain returns the consumption of a repeated transaction, which only reads its items.
func (e *Engine) readAgain(changes []*change, used []consumption) ([]consumption, error) {
	for _, ch := range changes {
		if ch == nil {
			continue
		}
		got, err := loadItem(e.store.Reader, ch.storageKey)
		if err != nil {
			return nil, err
		}
		consumptionOf(used, ch.table).addRead(nil, readUnits(got.size, true))
	}
	for i := range used {
		used[i].charge()
	}
	return used, nil
}

// respondItems appends the response with an element for each item. The element of a nil item is
// empty.
func (c *call) respondItems(items []attribute.Item, used []consumption, show *string) {
	c.out = append(c.out, `{"Responses":[`...)
	for i, item := range items {
		c.out = separate(c.out, i)
		c.out = append(c.out, '{')
		if item != nil {
			c.out = appendName(c.out, "Item")
			c.out = attribute.AppendItem(c.out, item)
		}
		c.out = append(c.out, '}')
	}
	c.out = append(c.out, ']')
	c.appendCapacities(used, show)
	c.out = append(c.out, '}')
}
