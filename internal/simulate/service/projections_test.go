package service_test

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

// world is the world outside, which remains when the processes of the service end: a read model,
// and the messages that were sent to another system.
type world struct {
	mu sync.Mutex
	// read has the operations of the read model of each persistence id, by their numbers. The
	// numbers up to purged belong to earlier lives.
	read   map[string]map[int64]string
	purged map[string]int64
	// sent has the messages of each persistence id, by the numbers of their events.
	sent map[string]map[int64]string
}

func newWorld() *world {
	return &world{read: map[string]map[int64]string{}, purged: map[string]int64{}, sent: map[string]map[int64]string{}}
}

// clone returns a copy.
func (t *world) clone() *world {
	t.mu.Lock()
	defer t.mu.Unlock()
	other := newWorld()
	other.purged = maps.Clone(t.purged)
	for pid, of := range t.read {
		other.read[pid] = maps.Clone(of)
	}
	for pid, of := range t.sent {
		other.sent[pid] = maps.Clone(of)
	}
	return other
}

// readModel is an at-least-once projection.
type readModel struct{ *service }

func (r readModel) Handle(ctx context.Context, e dynajournal.Event) error {
	d, err := dynajournal.Decode[Done](ctx, e)
	if err != nil {
		return err
	}
	t := r.world
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.SequenceNumber <= t.purged[e.PersistenceID] {
		return nil // by a process that was suspended
	}
	if t.read[e.PersistenceID] == nil {
		t.read[e.PersistenceID] = map[int64]string{}
	}
	t.read[e.PersistenceID][e.SequenceNumber] = d.Name
	return nil
}

// HandlePurge removes the events that the purge covers.
func (r readModel) HandlePurge(_ context.Context, p projection.Purge) error {
	r.trace("told: %+v", p)
	t := r.world
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.Last < p.Offset || p.Offset == 0 { // the numbers are used again
		t.read[p.PersistenceID], t.purged[p.PersistenceID] = nil, p.Last
		return nil
	}
	t.purged[p.PersistenceID] = max(t.purged[p.PersistenceID], p.Last)
	maps.DeleteFunc(t.read[p.PersistenceID], func(seq int64, _ string) bool { return seq <= p.Last })
	return nil
}

// effects is a transactional projection. It counts how often each event has had its effect.
type effects struct{ *service }

func (effects) Handle(ctx context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
	d, err := dynajournal.Decode[Done](ctx, e)
	if err != nil {
		return nil, err
	}
	return []types.TransactWriteItem{{Update: &types.Update{
		TableName:        aws.String(effectsTable),
		Key:              item{"id": &types.AttributeValueMemberS{Value: effectKey(e.PersistenceID, e.SequenceNumber)}},
		UpdateExpression: aws.String("SET done = :name ADD times :one"),
		ExpressionAttributeValues: item{
			":name": &types.AttributeValueMemberS{Value: d.Name}, ":one": &types.AttributeValueMemberN{Value: "1"},
		},
	}}}, nil
}

func effectKey(pid string, seq int64) string { return fmt.Sprintf("%s %d", pid, seq) }

// effectsOf returns how often each event has had its effect, and the operations, by their keys.
func (s *service) effectsOf() (times map[string]int, names map[string]string) {
	times, names = map[string]int{}, map[string]string{}
	for _, i := range s.items(effectsTable) {
		key := i["id"].(*types.AttributeValueMemberS).Value
		n, err := strconv.Atoi(i["times"].(*types.AttributeValueMemberN).Value)
		if err != nil {
			s.Fatal(err)
		}
		times[key], names[key] = n, i["done"].(*types.AttributeValueMemberS).Value
	}
	return times, names
}

// message returns the message of an event.
func message(ctx context.Context, e dynajournal.Event) ([]outbox.Message, error) {
	d, err := dynajournal.Decode[Done](ctx, e)
	return []outbox.Message{{Topic: "done", Body: []byte(d.Name)}}, err
}

// Send receives a message for the other system.
func (t *world) Send(_ context.Context, m outbox.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sent[m.PersistenceID] == nil {
		t.sent[m.PersistenceID] = map[int64]string{}
	}
	t.sent[m.PersistenceID][m.SequenceNumber] = string(m.Body)
	return nil
}
