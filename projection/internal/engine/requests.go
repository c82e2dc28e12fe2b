package engine

import (
	"context"
	"errors"
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

// AttrRetries are the requests of operators to a group: texts of an id of the request, the name of
// the projection, and the persistence id, with a NUL between them. The id of the request makes a
// request that comes during another one for the same persistence id a new one.
const AttrRetries = "retries"

// maxRetried is how many requests a process carries out at the same time.
const maxRetried = 8

// attrSendAgain are the requests to send dead letters again, beside AttrRetries. In the place of
// the persistence id they have the id of the message.
const attrSendAgain = "send_again"

// maxSendAgain is how many such requests a group has at most: they are one item.
const maxSendAgain = 500

// RequestsKey returns the key of the requests to a group. The item of a set of projections has a
// longer name.
func (t *Table) RequestsKey(group string) dynamo.Attributes {
	return dynamo.Attributes{AttrPar: Text(t.JournalName + "\x00" + group + "\x00requests")}
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
		if backoff.Wait(ctx, g.presence()/Renewals) != nil {
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
			g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "the requests of operators could not be read",
				slog.String("group", g.Config.Name), slog.Any("error", err))
		}
	}
}

// look begins to carry out the requests for projections of this process that are not yet begun.
func (a *attendant) look(ctx context.Context) error {
	item, err := a.Table.Get(ctx, a.Table.RequestsKey(a.Config.Name))
	if err != nil {
		return err
	}
	d := Decoder{Table: a.Table.Name, Item: item}
	a.beginAll(d.Texts(AttrRetries), func(request string, of *Member, pid string) {
		a.carryOut(ctx, request, of.Name, pid)
	})
	letters := slices.Clone(d.Texts(attrSendAgain))
	// Some may fail each time, and must not hold up the others.
	swap := func(i, j int) { letters[i], letters[j] = letters[j], letters[i] }
	rand.Shuffle(len(letters), swap) //nolint:gosec // any order will do
	a.beginAll(letters, func(request string, of *Member, id string) {
		a.carryOutSending(ctx, request, of, id)
	})
	return d.Err
}

// beginAll begins to carry out requests, each with the projection and the rest of its text.
func (a *attendant) beginAll(requests []string, carryOut func(request string, of *Member, what string)) {
	for _, request := range requests {
		_, subject, _ := strings.Cut(request, "\x00")
		name, what, ok := strings.Cut(subject, "\x00")
		i := slices.IndexFunc(a.Members, func(of *Member) bool { return of.Name == name })
		if !ok || i < 0 || !a.begin(request) {
			continue
		}
		begun := a.work.TryGo(func() error {
			defer a.end(request)
			carryOut(request, a.Members[i], what)
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
		err = errors.Join(err, a.remove(ctx, AttrRetries, request))
	}
	if err == nil {
		return
	}
	a.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "a persistence id was handled again, and failed",
		slog.String("projection", name), slog.String("persistence_id", pid), slog.Any("error", a.Config.PublicError(err)))
}

// failed stores why the handler has failed again. The counter of the row stays what it is.
func (a *attendant) failed(ctx context.Context, name, pid string, failure *HandlerError) error {
	err := a.Table.Send(ctx, dynamo.Update{
		Table: a.Table.Name, Key: RowKey(a.Table.JournalName, name, pid),
		Expression: "SET " + AttrReason + " = :reason, " + attrFailed + " = :failed",
		Condition:  "attribute_exists(" + AttrStuck + ")",
		Values: dynamo.Attributes{
			":reason": Text(Shorten(failure.Error())), ":failed": Number(failure.SequenceNumber),
		},
	})
	if errors.Is(err, ErrAgain) {
		return nil // it is not stuck: the sources try it again
	}
	return err
}

// remove removes a request from the ones of an attribute.
func (a *attendant) remove(ctx context.Context, attribute, request string) error {
	return a.Table.Send(ctx, dynamo.Update{
		Table: a.Table.Name, Key: a.Table.RequestsKey(a.Config.Name),
		Expression: "DELETE " + attribute + " :request",
		Condition:  Always,
		Values:     dynamo.Attributes{":request": &types.AttributeValueMemberSS{Value: []string{request}}},
	})
}

// AskToSend stores a request to send a refused message of a projection again. The error is ErrAgain
// if too many requests wait.
func (t *Table) AskToSend(ctx context.Context, group, projection, id string) error {
	request := uuid.NewString() + "\x00" + projection + "\x00" + id
	return t.Send(ctx, dynamo.Update{
		Table: t.Name, Key: t.RequestsKey(group),
		Expression: "ADD " + attrSendAgain + " :request",
		Condition:  "attribute_not_exists(" + attrSendAgain + ") OR size(" + attrSendAgain + ") < :most",
		Values: dynamo.Attributes{
			":request": &types.AttributeValueMemberSS{Value: []string{request}}, ":most": Number(maxSendAgain),
		},
	})
}

// carryOutSending sends a refused message again, and then removes the request. One that could not
// be carried out stays for the next look.
func (a *attendant) carryOutSending(ctx context.Context, request string, of *Member, id string) {
	var err error
	if s, ok := of.kind.(Sender); ok { // else it was an outbox before
		err = s.SendAgain(ctx, a.Group, of, id)
	}
	if err == nil {
		err = a.remove(ctx, attrSendAgain, request)
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	a.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "a dead letter could not be sent again",
		slog.String("projection", of.Name), slog.String("message", id), slog.Any("error", err))
}
