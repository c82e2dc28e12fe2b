package provision_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// withoutHeader removes the journal's header, as if it had never been put.
func (s *tables) withoutHeader() {
	s.Helper()
	if _, err := s.direct.DeleteItem(s.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(events), Key: layout.Keys{Journal: s.journal.Name}.Header().Attributes(),
	}); err != nil {
		s.Fatal(err)
	}
}

func TestJournalWithoutAHeaderIsOfAJVM(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		indexes []types.GlobalSecondaryIndex
		limit   int
		indexed bool
	}{
		"without an index":             {nil, layout.MaxKeyBytes, false},
		"an index without a range key": {[]types.GlobalSecondaryIndex{index(layout.SharedIDsIndex, "num", "")}, layout.MaxKeyBytes, true},
		"an index whose range key is par": {
			[]types.GlobalSecondaryIndex{index(layout.SharedIDsIndex, "num", "par")}, layout.MaxRangeKeyBytes, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTables(t)
			s.table(&dynamodb.CreateTableInput{GlobalSecondaryIndexes: c.indexes})
			found, err := s.journal.Inspect(t.Context(), s.client)
			want := layout.Header{Kind: layout.KindShared, Shards: layout.DefaultShards, Version: layout.SharedVersion, FenceWindow: layout.DefaultFenceWindow}
			if err != nil || !reflect.DeepEqual(found, provision.Found{Header: want, KeyLimit: c.limit, Indexed: c.indexed}) {
				t.Errorf("Inspect: %+v, %v", found, err)
			}
			s.journal.SequenceShards, s.journal.FenceWindow = 20, 2*time.Hour
			want.Shards, want.FenceWindow = 20, 7200
			if found, err = s.journal.Inspect(t.Context(), s.client); err != nil || found.Header != want {
				t.Errorf("Inspect, configured: %+v, %v", found, err)
			}
		})
	}
}

// A native journal without its header is not taken for a JVM's journal, whose marks no process
// would read, unless a number of shards is configured.
func TestTableOfNativeJournalsNeedsAHeader(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.create(native)
	s.withoutHeader()
	if _, err := s.journal.Inspect(t.Context(), s.client); !errors.Is(err, provision.ErrNoHeader) {
		t.Errorf("Inspect: %v, want ErrNoHeader", err)
	}
	if _, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{}); !errors.Is(err, provision.ErrNoHeader) {
		t.Errorf("Update: %v, want ErrNoHeader", err)
	}
	s.journal.SequenceShards = 5
	if found, err := s.journal.Inspect(t.Context(), s.client); err != nil || found.Header.Kind != layout.KindShared || found.Header.Shards != 5 {
		t.Errorf("Inspect, with a number of shards: %+v, %v", found, err)
	}
}

func TestHeader_ContradictionRefused(t *testing.T) {
	t.Parallel()
	number := func(name, value string) func(map[string]types.AttributeValue) {
		return func(item map[string]types.AttributeValue) { item[name] = &types.AttributeValueMemberN{Value: value} }
	}
	for name, c := range map[string]struct {
		stored func(map[string]types.AttributeValue)
		config func(*provision.Journal)
	}{
		"an unknown version":   {number("version", "3"), nil},
		"no shard":             {number("shards", "0"), nil},
		"too long a window":    {number("fence_window", "1000000000"), nil},
		"another kind of item": {func(item map[string]types.AttributeValue) { delete(item, "kind") }, nil},
		"other shards":         {nil, func(j *provision.Journal) { j.SequenceShards = 2 }},
		"another window":       {nil, func(j *provision.Journal) { j.FenceWindow = time.Hour }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTables(t)
			s.create(native)
			s.putHeader(c.stored)
			if c.config != nil {
				if _, err := s.journal.Inspect(t.Context(), s.client); err != nil {
					t.Fatalf("Inspect, as it is stored: %v", err)
				}
				c.config(s.journal)
			}
			if _, err := s.journal.Inspect(t.Context(), s.client); !errors.Is(err, provision.ErrHeaderMismatch) {
				t.Errorf("Inspect: %v, want ErrHeaderMismatch", err)
			}
			if err := s.journal.Create(t.Context(), s.client, native); !errors.Is(err, provision.ErrHeaderMismatch) {
				t.Errorf("Create: %v, want ErrHeaderMismatch", err)
			}
		})
	}
}

// A policy for the JVM may lack DescribeTable: then the strictest limit applies.
func TestDeniedDescriptionTakesTheStrictestLimit(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.create(native)
	s.before = func(operation string) bool { return operation != "DescribeTable" }
	found, err := s.journal.Inspect(t.Context(), s.client)
	if err != nil || found.KeyLimit != layout.MaxRangeKeyBytes || found.Header.Kind != layout.KindNative || found.Indexed {
		t.Errorf("Inspect: %+v, %v", found, err)
	}
}

func TestMissingTableIsAnError(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	if _, err := s.journal.Inspect(t.Context(), s.client); !errors.Is(err, dynamo.ErrTableNotFound) {
		t.Errorf("Inspect: %v, want ErrTableNotFound", err)
	}
	if _, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{}); !errors.Is(err, dynamo.ErrTableNotFound) {
		t.Errorf("Update: %v, want ErrTableNotFound", err)
	}
}

func TestOnlyAUsableIndexIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		index, named string
		hash, rng    string
		native       bool
		want         error
		found        bool
	}{
		"the usual one":                    {layout.SharedIDsIndex, layout.SharedIDsIndex, "num", "", false, nil, true},
		"by par too":                       {layout.SharedIDsIndex, layout.SharedIDsIndex, "num", "par", false, nil, true},
		"one that is named":                {"mine", "mine", "num", "", false, nil, true},
		"the usual one is not there":       {"mine", layout.SharedIDsIndex, "num", "", false, nil, false},
		"one that is named, and not there": {layout.SharedIDsIndex, "mine", "num", "", false, provision.ErrIndex, false},
		"by another hash key":              {layout.SharedIDsIndex, layout.SharedIDsIndex, "par", "num", false, provision.ErrIndex, false},
		"native, by another key":           {layout.NativeIDsIndex, layout.SharedIDsIndex, "num", "par", true, provision.ErrIndex, false},
		"native, not there":                {layout.SharedIDsIndex, layout.SharedIDsIndex, "num", "", true, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTables(t)
			s.table(&dynamodb.CreateTableInput{GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{index(c.index, c.hash, c.rng)}})
			s.journal.IDsIndex = c.named
			found, err := s.journal.FindIndex(t.Context(), s.client, c.native)
			if found != c.found || !errors.Is(err, c.want) {
				t.Errorf("FindIndex: %v, %v; want %v, %v", found, err, c.found, c.want)
			}
		})
	}
}
