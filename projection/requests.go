package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// attrRetries are the requests of operators to a group: texts of an id of the request, the name of
// the projection, and the persistence id, with a NUL between them. The id of the request makes a
// request that comes during another one for the same persistence id a new one.
const attrRetries = "retries"

// maxRetried is how many requests a process carries out at the same time.
const maxRetried = 8

// requestsKey returns the key of the requests to a group. The item of a set of projections has a
// longer name.
func (t *table) requestsKey(group string) dynamo.Attributes {
	return dynamo.Attributes{attrPar: text(t.journalName + "\x00" + group + "\x00requests")}
}

// Retry makes the processes of a group handle a persistence id again, as [Group.Resume] does in the
// process itself. It stores a request and returns. A
// process finds the request within a sixth of Config.ClaimTimeout, at most 10 seconds, also one
// that begins later. On [Lambda] the next call of [Group.Maintain] finds it. The request is removed
// when the events are handled, or when the handler has failed again: then the persistence id stays
// stuck, with the new reason. It does no harm to a persistence id that is not stuck. It costs 1
// read unit, and 1 write unit for each KB of requests that wait.
//
// Errors: a *dynajournal.ArgumentError, [ErrNoProjection], and those of requests.
func (o *Operator) Retry(ctx context.Context, persistenceID string) error {
	p, err := o.find(ctx)
	if err == nil {
		err = checkID(persistenceID)
	}
	if err == nil {
		err = p.retry(ctx, persistenceID)
	}
	if err != nil {
		return fmt.Errorf("retry %q of projection %s: %w", persistenceID, o.projection, err)
	}
	return nil
}

func (o *operated) retry(ctx context.Context, pid string) error {
	request := uuid.NewString() + "\x00" + o.Projection + "\x00" + pid
	return o.table.send(ctx, dynamo.Update{
		Table: o.table.name, Key: o.table.requestsKey(o.group),
		Expression: "ADD " + attrRetries + " :request",
		Condition:  always,
		Values:     dynamo.Attributes{":request": &types.AttributeValueMemberSS{Value: []string{request}}},
	})
}

// attendant carries out the requests of operators in a process of a group.
type attendant struct {
	*Group

	work errgroup.Group

	mu sync.Mutex
	// begun are the requests that are being carried out.
	begun map[string]bool
}

// attend looks for requests, and says that this process is there, until ctx ends.
func (g *Group) attend(ctx context.Context, worker string) error {
	a := &attendant{Group: g, begun: map[string]bool{}}
	a.work.SetLimit(maxRetried)
	defer func() { _ = a.work.Wait() }() // its functions return nil
	said := time.Now()
	for {
		if backoff.Wait(ctx, g.presence()/renewals) != nil {
			return nil
		}
		err := a.look(ctx)
		if err == nil && time.Since(said) >= g.presence() {
			said = time.Now()
			err = g.present(ctx, worker)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			g.config.Logger.LogAttrs(ctx, slog.LevelWarn, "the requests of operators could not be read",
				slog.String("group", g.config.Name), slog.Any("error", err))
		}
	}
}

// look begins to carry out the requests for projections of this process that are not yet begun.
func (a *attendant) look(ctx context.Context) error {
	item, err := a.table.get(ctx, a.table.requestsKey(a.config.Name))
	if err != nil {
		return err
	}
	d := decoder{table: a.table.name, item: item}
	a.beginAll(d.texts(attrRetries), func(request string, of *member, pid string) {
		a.carryOut(ctx, request, of.name, pid)
	})
	letters := slices.Clone(d.texts(attrSendAgain))
	// Some may fail each time, and must not hold up the others.
	swap := func(i, j int) { letters[i], letters[j] = letters[j], letters[i] }
	rand.Shuffle(len(letters), swap) //nolint:gosec // any order will do
	a.beginAll(letters, func(request string, of *member, id string) {
		a.carryOutSending(ctx, request, of, id)
	})
	return d.err
}

// beginAll begins to carry out requests, each with the projection and the rest of its text.
func (a *attendant) beginAll(requests []string, carryOut func(request string, of *member, what string)) {
	for _, request := range requests {
		_, subject, _ := strings.Cut(request, "\x00")
		name, what, ok := strings.Cut(subject, "\x00")
		i := slices.IndexFunc(a.members, func(of *member) bool { return of.name == name })
		if !ok || i < 0 || !a.begin(request) {
			continue
		}
		begun := a.work.TryGo(func() error {
			defer a.end(request)
			carryOut(request, a.members[i], what)
			return nil
		})
		if !begun {
			a.end(request)
			return // the next look finds it
		}
	}
}

// begin reports whether a request was not begun.
func (a *attendant) begin(request string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun[request] {
		return false
	}
	a.begun[request] = true
	return true
}

func (a *attendant) end(request string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.begun, request)
}

// carryOut handles a persistence id again, and then removes the request. A request that could not
// be carried out stays for the next look.
func (a *attendant) carryOut(ctx context.Context, request, name, pid string) {
	_, projection, _ := strings.Cut(name, "/")
	err := a.Resume(ctx, projection, pid)
	if ctx.Err() != nil {
		return
	}
	done := err == nil
	if failure, ok := errors.AsType[*HandlerError](err); ok {
		storing := a.failed(ctx, name, pid, failure)
		done, err = storing == nil, errors.Join(err, storing)
	}
	if done {
		err = errors.Join(err, a.remove(ctx, attrRetries, request))
	}
	if err == nil {
		return
	}
	a.config.Logger.LogAttrs(ctx, slog.LevelWarn, "a persistence id was handled again, and failed",
		slog.String("projection", name), slog.String("persistence_id", pid), slog.Any("error", err))
}

// failed stores why the handler has failed again. The counter of the row stays what it is.
func (a *attendant) failed(ctx context.Context, name, pid string, failure *HandlerError) error {
	err := a.table.send(ctx, dynamo.Update{
		Table: a.table.name, Key: rowKey(a.table.journalName, name, pid),
		Expression: "SET " + attrReason + " = :reason, " + attrFailed + " = :failed",
		Condition:  "attribute_exists(" + attrStuck + ")",
		Values: dynamo.Attributes{
			":reason": text(shorten(failure.Error())), ":failed": number(failure.SequenceNumber),
		},
	})
	if errors.Is(err, errAgain) {
		return nil // it is not stuck: the sources try it again
	}
	return err
}

// remove removes a request from the ones of an attribute.
func (a *attendant) remove(ctx context.Context, attribute, request string) error {
	return a.table.send(ctx, dynamo.Update{
		Table: a.table.name, Key: a.table.requestsKey(a.config.Name),
		Expression: "DELETE " + attribute + " :request",
		Condition:  always,
		Values:     dynamo.Attributes{":request": &types.AttributeValueMemberSS{Value: []string{request}}},
	})
}
