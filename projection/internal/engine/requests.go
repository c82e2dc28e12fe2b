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

// AttrSendAgain are the requests of operators to send dead letters again: texts of an id of the
// request, the name of the projection, and the id of the message, with a NUL between them. The id
// of the request makes a request that comes during another one for the same message a new one.
const AttrSendAgain = "send_again"

// maxCarriedOut is how many requests a process carries out at the same time.
const maxCarriedOut = 8

// maxSendAgain is how many requests a group has at most: they are one item.
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
	a.work.SetLimit(maxCarriedOut)
	defer func() { _ = a.work.Wait() }() // its functions return nil
	said := time.Now()
	for {
		if backoff.Wait(ctx, g.presence()/Renewals) != nil {
			return nil
		}
		if err := a.look(ctx); err != nil && ctx.Err() == nil {
			g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "the requests of operators could not be read",
				slog.String("group", g.Config.Name), slog.Any("error", err))
		}
		if time.Since(said) < g.presence() {
			continue
		}
		begun := time.Now()
		if err := g.present(ctx, worker); err == nil {
			said = begun
		} else if ctx.Err() == nil {
			g.logPresence(ctx, err)
		}
	}
}

// look begins to carry out the requests for projections of this process that are not yet begun.
// Only a group with an outbox has requests.
func (a *attendant) look(ctx context.Context) error {
	if !slices.ContainsFunc(a.Members, sends) {
		return nil
	}
	item, err := a.Table.Get(ctx, a.Table.RequestsKey(a.Config.Name))
	if err != nil {
		return err
	}
	d := Decoder{Table: a.Table.Name, Item: item}
	letters := slices.Clone(d.Texts(AttrSendAgain))
	// Some may fail each time, and must not hold up the others.
	swap := func(i, j int) { letters[i], letters[j] = letters[j], letters[i] }
	rand.Shuffle(len(letters), swap) //nolint:gosec // any order will do
	a.beginAll(ctx, letters)
	return d.Err
}

// sends reports whether a projection sends messages to another system.
func sends(of *Member) bool {
	_, ok := of.kind.(Sender)
	return ok
}

// beginAll begins to carry out requests.
func (a *attendant) beginAll(ctx context.Context, requests []string) {
	for _, request := range requests {
		_, subject, _ := strings.Cut(request, "\x00")
		name, id, ok := strings.Cut(subject, "\x00")
		i := slices.IndexFunc(a.Members, func(of *Member) bool { return of.Name == name })
		if !ok || i < 0 || !a.begin(request) {
			continue
		}
		begun := a.work.TryGo(func() error {
			defer a.end(request)
			a.carryOut(ctx, request, a.Members[i], id)
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

// remove removes a request.
func (a *attendant) remove(ctx context.Context, request string) error {
	return a.Table.Send(ctx, dynamo.Update{
		Table: a.Table.Name, Key: a.Table.RequestsKey(a.Config.Name),
		Expression: "DELETE " + AttrSendAgain + " :request",
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
		Expression: "ADD " + AttrSendAgain + " :request",
		Condition:  "attribute_not_exists(" + AttrSendAgain + ") OR size(" + AttrSendAgain + ") < :most",
		Values: dynamo.Attributes{
			":request": &types.AttributeValueMemberSS{Value: []string{request}}, ":most": Number(maxSendAgain),
		},
	})
}

// carryOut sends a refused message again, and then removes the request. One that could not
// be carried out stays for the next look.
func (a *attendant) carryOut(ctx context.Context, request string, of *Member, id string) {
	var err error
	if s, ok := of.kind.(Sender); ok { // else it was an outbox before
		err = s.SendAgain(ctx, a.Group, of, id)
	}
	if err == nil {
		err = a.remove(ctx, request)
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	a.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "a dead letter could not be sent again",
		slog.String("projection", of.Name), slog.String("message", id), slog.Any("error", err))
}
