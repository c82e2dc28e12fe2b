package snapshots

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/outside"
	"github.com/dynajournal/dynajournal/serialization"
)

// The split form, version 1. A snapshot at sequence number s is a head at 10^19 + s, above every
// number that a plug-in can ask for, and its parts far below zero, all in the partition of the
// plug-ins' snapshots. The parts are written first, and then the head, which has their number,
// length and SHA-256. A random token separates the parts of every save. So until the head is stored
// the older snapshot is the newest, two saves of one number don't mix, and a head that lacks parts
// is damaged. The heads lack the attribute of the plug-ins' index.
//
// If a whole snapshot and a head of one number are stored, the whole one counts. A split save
// removes the whole one that it replaces after it has stored its head. So a whole one next to a
// head was saved later, or the save of the head was never finished. That allows a whole one to be
// saved by a single put, even if clocks differ. The hidden head stays until both are deleted, the
// head first: it must not become visible again.

// ErrTooLarge reports that a snapshot is over the limit. Nothing is written, and no part is read.
var ErrTooLarge = errors.New("the snapshot has too many bytes")

// DamagedError names a stored snapshot that can't be read.
type DamagedError struct {
	PersistenceID string
	SequenceNr    int64
	// Err is the reason: a *layout.ItemError, or the fault in its parts.
	Err error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the snapshot of %q at %d is damaged: %v", e.PersistenceID, e.SequenceNr, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Reasons why the parts of a snapshot do not match its head.
var (
	errPartMissing = errors.New("it is missing")
	errChecksum    = errors.New("its bytes do not match the length and checksum in the head")
)

// partOverhead is an upper limit of the item size of a part without its bytes and the persistence
// id.
const partOverhead = 256

// packedOverhead is an upper limit of the size that compression adds to bytes that can't be
// compressed, up to the largest snapshot.
const packedOverhead = 1 << 20

// partSize returns the number of a snapshot's bytes in a part.
func (s *Store) partSize(pid string) int {
	return max(s.MaxItemSize-partOverhead-len(s.Keys.Snapshots(pid)), 1)
}

func (s *Store) saveSplit(
	ctx context.Context, m *dynamo.Meter, snapshot *layout.Snapshot, token func(stored []byte) int64,
) error {
	key := s.Keys.SnapshotKey(snapshot.PersistenceID, strconv.FormatInt(snapshot.SequenceNr, 10))
	whole, err := s.Client.Get(ctx, m, s.Table, key)
	if err != nil {
		return err
	}
	stored := snapshot.Bytes
	// Package payloads finds references by their text.
	refers := bytes.Contains(stored, []byte(serialization.ReferencePrefix))
	packed := s.Compress && !refers
	if packed {
		if stored, err = compress(stored); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(stored)
	head := &layout.SplitHead{
		Snapshot: *snapshot,
		Token:    token(stored),
		Stored:   int64(len(stored)),
		Sum:      sum[:],
		Zstd:     packed,
	}
	head.Bytes = stored
	if layout.Size(s.Keys.EncodeSplitHead(head)) > s.MaxItemSize {
		size := s.partSize(snapshot.PersistenceID)
		head.Parts = int64((len(stored) + size - 1) / size)
		if head.Parts > layout.MaxSplitParts {
			return fmt.Errorf("%w: %d parts, the limit is %d", ErrTooLarge, head.Parts, layout.MaxSplitParts)
		}
		if err := s.putParts(ctx, m, head, size); err != nil {
			return err
		}
	}
	replaced, err := s.Client.Replace(ctx, m, s.Table, s.Keys.EncodeSplitHead(head), outside.Checking(head.Outside, s.Clock))
	if err == nil && replaced != nil && !s.isHead(replaced, head) {
		err = s.deleteParts(ctx, m, snapshot.PersistenceID, replaced)
	}
	if err == nil && whole != nil {
		err = s.removeUnchanged(ctx, m, key, whole)
	}
	return err
}

// removeUnchanged removes a whole snapshot, unless it was saved again since it was read. Then the
// new one counts.
func (s *Store) removeUnchanged(ctx context.Context, m *dynamo.Meter, key, seen layout.Attributes) error {
	err := s.Client.Delete(ctx, m, dynamo.Delete{
		Table:     s.Table,
		Key:       key,
		Condition: layout.AttrSnapshotTS + " = :seen",
		Values:    dynamo.Attributes{":seen": seen[layout.AttrSnapshotTS]},
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return nil
	}
	return err
}

// randomToken returns a token that separates a save from every other.
func randomToken([]byte) int64 {
	return rand.Int64N(layout.MaxSplitToken + 1) //nolint:gosec // separates saves, is not a secret
}

// copyToken returns the same token for every attempt of a copy, so that each attempt writes the
// same parts and leaves no others. size is the number of bytes in a part.
func copyToken(snapshot *layout.Snapshot, size int) func(stored []byte) int64 {
	return func(stored []byte) int64 {
		of := sha256.New()
		fmt.Fprintf(of, "%d %d %d ", snapshot.SequenceNr, snapshot.Timestamp, size)
		of.Write(stored)
		return int64(binary.BigEndian.Uint64(of.Sum(nil)) % (layout.MaxSplitToken + 1))
	}
}

// isHead reports whether an item is the head of the same save. A second attempt finds the head of
// the first attempt, which has the same parts.
func (s *Store) isHead(item layout.Attributes, head *layout.SplitHead) bool {
	_, token, _, err := s.Keys.DecodeSplitParts(head.PersistenceID, item)
	return err == nil && token == head.Token
}

func (s *Store) putParts(ctx context.Context, m *dynamo.Meter, head *layout.SplitHead, size int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.Parallelism)
	for part := range head.Parts {
		from := int(part) * size
		data := head.Bytes[from:min(from+size, len(head.Bytes))]
		group.Go(func() error {
			item := s.Keys.EncodeSplitPart(head.PersistenceID, head.SequenceNr, head.Token, part, data)
			return s.Client.Put(ctx, m, dynamo.Put{Table: s.Table, Item: item})
		})
	}
	return group.Wait()
}

// assemble reads the parts of a snapshot, if it has any. damage is the reason if they do not match
// the head.
func (s *Store) assemble(ctx context.Context, m *dynamo.Meter, f *hit) (damage, err error) {
	head := f.head
	if head == nil {
		return nil, nil
	}
	if head.Stored > int64(s.MaxBytes)+packedOverhead {
		return fmt.Errorf("%w: %d, the limit is %d", ErrTooLarge, head.Stored, s.MaxBytes), nil
	}
	stored := head.Bytes
	if head.Parts > 0 {
		if stored, damage, err = s.readParts(ctx, m, head); err != nil || damage != nil {
			return damage, err
		}
	}
	sum := sha256.Sum256(stored)
	if int64(len(stored)) != head.Stored || !bytes.Equal(sum[:], head.Sum) {
		return errChecksum, nil
	}
	if head.Zstd {
		if stored, err = decompress(stored, s.MaxBytes); err != nil {
			return err, nil
		}
	}
	f.Bytes = stored
	return nil, nil
}

// readParts reads the parts of a head. damage names a part that is missing or can't be read.
func (s *Store) readParts(
	ctx context.Context, m *dynamo.Meter, head *layout.SplitHead,
) (stored []byte, damage, err error) {
	first := layout.SplitPartNumber(head.SequenceNr, head.Token, 0)
	last := layout.SplitPartNumber(head.SequenceNr, head.Token, layout.MaxSplitParts)
	q := s.rangeQuery(head.PersistenceID, first, last) // the first part has the highest number
	stored = make([]byte, 0, head.Stored)
	part := int64(0)
	for {
		page, err := s.Client.Query(ctx, m, q)
		if err != nil {
			return nil, nil, err
		}
		for _, item := range page.Items {
			number := &types.AttributeValueMemberN{Value: layout.SplitPartNumber(head.SequenceNr, head.Token, part)}
			if !reflect.DeepEqual(item[layout.AttrSnapshotSeq], number) {
				return nil, fmt.Errorf("part %d of %d: %w", part+1, head.Parts, errPartMissing), nil
			}
			data, err := s.Keys.DecodeSplitPart(head.PersistenceID, item)
			if err != nil {
				return nil, fmt.Errorf("part %d of %d: %w", part+1, head.Parts, err), nil
			}
			if stored = append(stored, data...); int64(len(stored)) > head.Stored {
				return nil, errChecksum, nil
			}
			part++
		}
		if page.Next == nil {
			break
		}
		q.ExclusiveStartKey = page.Next
	}
	if part < head.Parts {
		return nil, fmt.Errorf("part %d of %d: %w", part+1, head.Parts, errPartMissing), nil
	}
	return stored, nil, nil
}

// deleteParts deletes the parts of a head. It uses the head's token and number of parts.
func (s *Store) deleteParts(ctx context.Context, m *dynamo.Meter, pid string, head layout.Attributes) error {
	seq, token, parts, err := s.Keys.DecodeSplitParts(pid, head)
	if err != nil {
		return err
	}
	keys := make([]layout.Attributes, parts)
	for part := range parts {
		keys[part] = s.Keys.SnapshotKey(pid, layout.SplitPartNumber(seq, token, part))
	}
	return s.Client.BatchDelete(ctx, m, s.Table, keys, s.Before)
}

func compress(data []byte) ([]byte, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("compress the snapshot: %w", err)
	}
	packed := encoder.EncodeAll(data, nil)
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("compress the snapshot: %w", err)
	}
	return packed, nil
}

// decompress unpacks at most limit bytes.
func decompress(packed []byte, limit int) ([]byte, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(limit)))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	defer decoder.Close()
	data, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return data, nil
}
