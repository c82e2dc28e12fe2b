package engine

import (
	"context"
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

// AttrSendAgain has the requests of operators to resend dead letters. Each request is a text with
// an id of the request, the name of the projection, and the id of the message, separated by NULs.
// The id of the request distinguishes it from an earlier request for the same message.
const AttrSendAgain = "send_again"

// maxCarriedOut is how many requests a process carries out at the same time.
const maxCarriedOut = 8

// maxSendAgain is the maximum number of requests of a group, which are in one item.
const maxSendAgain = 500

// RequestsKey returns the key of the requests to a group. It can't be the key of a set of
// projections, whose id is longer.
func (t *Table) RequestsKey(group string) dynamo.Attributes {
	return dynamo.Attributes{AttrPar: Text(t.JournalName + "\x00" + group + "\x00requests")}
}

// attendant carries out the requests of operators in a process of a group.
type attendant struct {
	*Group

	work errgroup.Group

	mu sync.Mutex
	// marked has the requests that are being carried out.
	marked map[string]bool
}

// attend polls for requests, and renews the registration of this process, until ctx ends.
func (g *Group) attend(ctx context.Context, worker string) error {
	a := &attendant{Group: g, marked: map[string]bool{}}
	a.work.SetLimit(maxCarriedOut)
	defer func() { _ = a.work.Wait() }() // its functions return nil
	said := time.Now()
	for {
		if backoff.Wait(ctx, g.presence()/Renewals) != nil {
			return nil
		}
		if err := a.poll(ctx); err != nil && ctx.Err() == nil {
			g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "the requests of operators could not be read",
				slog.String("event", "projection.requests_unreadable"), slog.String("group", g.Config.Name), slog.Any("error", err))
		}
		if time.Since(said) < g.presence() {
			continue
		}
		started := time.Now()
		if err := g.present(ctx, worker); err == nil {
			said = started
		} else if ctx.Err() == nil {
			g.logPresence(ctx, err)
		}
	}
}

// poll reads the requests, and starts to carry out those for projections of this process that are
// not being carried out. Only a group with an outbox has requests.
func (a *attendant) poll(ctx context.Context) error {
	if !slices.ContainsFunc(a.Members, sends) {
		return nil
	}
	item, err := a.Table.Get(ctx, a.Table.RequestsKey(a.Config.Name))
	if err != nil {
		return err
	}
	d := Decoder{Table: a.Table.Name, Item: item}
	letters := slices.Clone(d.Texts(AttrSendAgain))
	// Requests that fail each time must not delay the others.
	swap := func(i, j int) { letters[i], letters[j] = letters[j], letters[i] }
	rand.Shuffle(len(letters), swap) //nolint:gosec // any order will do
	a.startAll(ctx, letters)
	return d.Err
}

// sends reports whether a projection sends messages to another system.
func sends(of *Member) bool {
	_, ok := of.kind.(Sender)
	return ok
}

// startAll starts to carry out requests.
func (a *attendant) startAll(ctx context.Context, requests []string) {
	for _, request := range requests {
		_, subject, _ := strings.Cut(request, "\x00")
		name, id, ok := strings.Cut(subject, "\x00")
		i := slices.IndexFunc(a.Members, func(of *Member) bool { return of.Name == name })
		if !ok || i < 0 || !a.mark(request) {
			continue
		}
		started := a.work.TryGo(func() error {
			defer a.unmark(request)
			a.carryOut(ctx, request, a.Members[i], id)
			return nil
		})
		if !started {
			a.unmark(request)
			return // the next poll finds it
		}
	}
}

// mark marks a request as being carried out. It reports false if the request was marked before.
func (a *attendant) mark(request string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.marked[request] {
		return false
	}
	a.marked[request] = true
	return true
}

func (a *attendant) unmark(request string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.marked, request)
}

// remove removes a request.
func (a *attendant) remove(ctx context.Context, request string) error {
	return a.Table.Send(ctx, dynamo.Update{
		Table: a.Table.Name, Key: a.Table.RequestsKey(a.Config.Name),
		Expression: "DELETE " + AttrSendAgain + " :request",
		Condition:  Always,
		Values:     dynamo.Attributes{":request": &types.AttributeValueMemberSS{Value: []string{request}}},
	})
}

// AskToSend stores a request to resend a refused message of a projection. The error is ErrAgain if
// too many requests wait.
func (t *Table) AskToSend(ctx context.Context, group, projection, id string) error {
	request := uuid.NewString() + "\x00" + projection + "\x00" + id
	return t.Send(ctx, dynamo.Update{
		Table: t.Name, Key: t.RequestsKey(group),
		Expression: "ADD " + AttrSendAgain + " :request",
		Condition:  "attribute_not_exists(" + AttrSendAgain + ") OR size(" + AttrSendAgain + ") < :most",
		Values: dynamo.Attributes{
			":request": &types.AttributeValueMemberSS{Value: []string{request}}, ":most": Number(maxSendAgain),
		},
	})
}

// carryOut resends a refused message, and then removes the request. A request that could not be
// carried out remains for the next poll.
func (a *attendant) carryOut(ctx context.Context, request string, of *Member, id string) {
	var err error
	if s, ok := of.kind.(Sender); ok { // otherwise the projection was an outbox before
		err = s.SendAgain(ctx, a.Group, of, id)
	}
	if err == nil {
		err = a.remove(ctx, request)
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	a.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "a dead letter could not be sent again",
		slog.String("event", "projection.dead_letter_not_sent"), slog.String("projection", of.Name), slog.String("message", id), slog.Any("error", err))
}
