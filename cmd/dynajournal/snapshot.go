package main

import (
	"context"
	"encoding/base64"
	"errors"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/serialization"
)

type snapshotCommand struct {
	Load   snapshotLoadCommand   `cmd:"" help:"Show the snapshot that a recovery would load: the one with the highest sequence number."`
	Save   snapshotSaveCommand   `cmd:"" help:"Save a snapshot."`
	Delete snapshotDeleteCommand `cmd:"" help:"Delete snapshots. Without bounds it deletes all of them."`
}

type snapshotLoadCommand struct {
	criteria

	PersistenceID string `arg:"" name:"pid" help:"Persistence id."`
}

// Run runs the command.
func (c *snapshotLoadCommand) Run(ctx context.Context, s *session) error {
	bounds, err := c.bounds()
	if err != nil {
		return err
	}
	return s.currentJournal(ctx, reading, func(j *dynajournal.Journal) error {
		snapshot, found, err := j.LoadSnapshot(ctx, c.PersistenceID, bounds)
		if err != nil {
			return err
		}
		if !found {
			return s.message("%s has no snapshot that matches", printable(c.PersistenceID))
		}
		return s.result.write(newSnapshotResult(snapshot, &payloadDecoder{}))
	})
}

type snapshotSaveCommand struct {
	PersistenceID string  `arg:"" name:"pid" help:"Persistence id."`
	Seq           int64   `required:"" placeholder:"N" help:"Sequence number of the last event that the state contains."`
	String        *string `xor:"state" required:"" placeholder:"S" help:"Save this string as the state (serializer 20)."`
	BytesBase64   *string `xor:"state" required:"" name:"bytes-base64" placeholder:"B" help:"Save these bytes, given in base64, as the state (serializer 4)."`
	JSON          *string `xor:"state" required:"" name:"json" placeholder:"FILE" help:"Save the JSON value in this file as the state (serializer 31). - is standard input."`
	Manifest      string  `placeholder:"CLASS" help:"Manifest of the JSON state: the class, which a JVM needs to read it. Default: none."`
}

// Help returns the text below the help of the flags.
func (*snapshotSaveCommand) Help() string {
	return "It replaces a snapshot with the same sequence number. If --seq is beyond the last " +
		"event, the next recovery from the snapshot continues after --seq. On an embedded " +
		"engine without tables, the command first creates the tables of a native journal."
}

// Run runs the command.
func (c *snapshotSaveCommand) Run(ctx context.Context, s *session) error {
	state, err := c.state(s)
	if err != nil {
		return err
	}
	return s.currentJournal(ctx, appending, func(j *dynajournal.Journal) error {
		bounds, err := j.Bounds(ctx, c.PersistenceID)
		if err != nil {
			return err
		}
		metadata := dynajournal.SnapshotMetadata{PersistenceID: c.PersistenceID, SequenceNumber: c.Seq,
			Timestamp: time.Now()}
		if _, err := j.SaveSnapshot(ctx, metadata, state); err != nil {
			return err
		}
		if c.Seq > bounds.Highest {
			err = s.message("warning: the last event of %s is %d: the next recovery from this snapshot continues after %d",
				printable(c.PersistenceID), bounds.Highest, c.Seq)
		}
		saved := dynajournal.Snapshot{SnapshotMetadata: metadata, SerializerID: state.SerializerID,
			SerializerManifest: state.Manifest, Bytes: state.Bytes}
		return errors.Join(err, s.result.write(newSnapshotResult(saved, &payloadDecoder{})))
	})
}

// state returns the state that the flags give, in its stored form.
func (c *snapshotSaveCommand) state(s *session) (serialization.Payload, error) {
	var state any
	switch {
	case c.String != nil:
		state = *c.String
	case c.BytesBase64 != nil:
		bytes, err := base64.StdEncoding.DecodeString(*c.BytesBase64)
		if err != nil {
			return serialization.Payload{}, usagef("--bytes-base64: %w", err)
		}
		state = bytes
	default:
		payload, err := readJSON(s.in, *c.JSON, c.Manifest)
		if err != nil {
			return payload, usagef("--json: %w", err)
		}
		return payload, nil
	}
	return serialization.NewRegistry().Encode(context.Background(), state)
}

type snapshotDeleteCommand struct {
	criteria

	PersistenceID string `arg:"" name:"pid" help:"Persistence id."`
}

// Help returns the text below the help of the flags.
func (*snapshotDeleteCommand) Help() string {
	return "--max-seq deletes older snapshots, and --min-seq newer ones. The command shows each snapshot " +
		"that it deletes. It also deletes snapshots that can't be read, and prints their number on stderr."
}

// Run runs the command.
func (c *snapshotDeleteCommand) Run(ctx context.Context, s *session) error {
	bounds, err := c.bounds()
	if err != nil {
		return err
	}
	return s.currentJournal(ctx, removing, func(j *dynajournal.Journal) error {
		if err := c.deleteReadable(ctx, s, j, bounds); err != nil {
			return err
		}
		rest, err := j.DeleteSnapshots(ctx, c.PersistenceID, bounds)
		if err != nil || rest == 0 {
			return err
		}
		return s.message("deleted %d more snapshots, which can't be read or were saved during the deletion", rest)
	})
}

// deleteReadable deletes snapshots one by one, so that it shows exactly the snapshots that it
// deletes.
func (c *snapshotDeleteCommand) deleteReadable(
	ctx context.Context, s *session, j *dynajournal.Journal, bounds dynajournal.SnapshotCriteria,
) error {
	var payloads payloadDecoder
	for snapshot, err := range j.Snapshots(ctx, c.PersistenceID, bounds) {
		if errors.Is(err, dynajournal.ErrCorruptItem) { // it can't be shown
			continue
		}
		if err != nil {
			return err
		}
		one := bounds
		one.SequenceNumber = &snapshot.SequenceNumber
		deleted, err := j.DeleteSnapshots(ctx, c.PersistenceID, one)
		if err != nil {
			return err
		}
		if deleted == 0 { // another process deleted it first
			continue
		}
		if err := s.result.write(newSnapshotResult(snapshot, &payloads)); err != nil {
			return err
		}
	}
	return nil
}
