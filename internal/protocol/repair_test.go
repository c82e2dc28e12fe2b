package protocol_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// stored returns the item of a number, or nil.
func (s *scene) stored(seq int64) layout.Attributes {
	s.Helper()
	got, err := s.client.GetItem(s.Context(), &dynamodb.GetItemInput{TableName: aws.String(table), Key: keys.Event(pid, seq).Attributes()})
	if err != nil {
		s.Fatalf("read %d: %v", seq, err)
	}
	return got.Item
}

// TestReplaceWithSeal_ChangedItem seals a member of a dead atomic write. Another item was
// stored in its place since it was read.
func TestReplaceWithSeal_ChangedItem(t *testing.T) {
	t.Parallel()
	read := member(4, 3, 6)
	for name, c := range map[string]struct {
		there  layout.Attributes
		sealed bool
	}{
		"the member":                       {member(4, 3, 6), true},
		"a single event":                   {single(4), false},
		"a member of another atomic write": {member(4, 4, 6), false},
		"a tombstone":                      {keys.EncodeTombstone(pid, 4, 4_000_000_000), false},
		"nothing":                          {nil, false},
	} {
		s := newScene(t, 10)
		if c.there != nil {
			s.put(c.there)
		}
		sealed, err := s.store.ReplaceWithSeal(t.Context(), &dynamo.Meter{}, pid, 4, read)
		if err != nil {
			t.Fatal(err)
		}
		got := s.stored(4)
		if _, event := got[layout.AttrEvent]; sealed != c.sealed || sealed && event || !sealed && len(got) != len(c.there) {
			t.Errorf("where %s was stored, there is %v; it reports %v, want %v", name, got, sealed, c.sealed)
		}
	}
}

// TestRemoveExpired_RenewedTombstone removes a tombstone that was put anew since it was read.
func TestRemoveExpired_RenewedTombstone(t *testing.T) {
	t.Parallel()
	s := newScene(t, 10)
	s.put(keys.EncodeTombstone(pid, 1, 1000), keys.EncodeTombstone(pid, 2, 3000))
	for seq := int64(1); seq <= 2; seq++ {
		removed, err := s.store.RemoveExpired(t.Context(), &dynamo.Meter{}, pid, seq, 2000)
		if err != nil || removed != (seq == 1) {
			t.Errorf("the tombstone of %d is removed: %v (%v)", seq, removed, err)
		}
	}
	if s.stored(1) != nil || s.stored(2) == nil {
		t.Errorf("after 2000, of tombstones that expire at 1000 and 3000 there are %v and %v", s.stored(1), s.stored(2))
	}
}
