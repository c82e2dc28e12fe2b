package dynajournal_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/dynajournal/dynajournal"
)

// operations is a hook that counts requests by operation. Hooks are called from many goroutines.
type operations struct {
	mu    sync.Mutex
	names []string
}

// OnRequest is the function of the hook.
func (o *operations) OnRequest(_ context.Context, request dynajournal.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names = append(o.names, request.Operation)
}

func (o *operations) reset() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	names := o.names
	o.names = nil
	slices.Sort(names)
	return names
}

// A hook sees every attempt of every request: here, what a recovery and an append send.
func ExampleHook() {
	ctx := context.Background()
	seen := &operations{}
	journal, end := exampleJournal(ctx, dynajournal.Config{Hooks: []dynajournal.Hook{{OnRequest: seen.OnRequest}}})
	defer end()
	recoverExample(ctx, journal, "account-1", 3)

	seen.reset()
	writer, err := journal.Recover(ctx, "account-1", dynajournal.RecoverOptions{}, nil)
	check(err)
	fmt.Println("recover:", seen.reset())
	_, err = writer.Append(ctx, "deposited")
	check(err)
	fmt.Println("append:", seen.reset())
	// Output:
	// recover: [BatchGetItem Query]
	// append: [PutItem]
}
