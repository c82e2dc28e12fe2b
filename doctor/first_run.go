package doctor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
)

// Trial is the result of trying something that dynajournal assumes of DynamoDB.
type Trial struct {
	// Name is the stable name, such as partiql.duplicates.
	Name string
	// Status is StatusOK if the service behaves as expected. It is StatusWarn if dynajournal can
	// work with another behavior, StatusError if it can't, and StatusUnknown if the trial could not
	// be made.
	Status Status
	// Expected and Found are short texts without names of accounts, tables and keys.
	Expected, Found string
	Duration        time.Duration
}

// removeTimeout limits the removal of the tables of a first run.
const removeTimeout = 2 * time.Minute

// FirstRun tries, on tables of its own, what dynajournal assumes of the service: the wire, PartiQL,
// keys and values, conditions and transactions, and streams. It creates a journal with its
// snapshot and projections tables, whose names end in a random suffix, calls each with the result
// of each trial, and deletes the tables, also if ctx has ended. On AWS it takes about a minute and
// uses about 2,000 write units, which cost less than a cent.
//
// It needs the permissions to create, describe, update and delete tables, besides the permissions
// of [RoleService] and [RoleProjections] for them.
//
// Errors: errors of creating and deleting the tables, and the cause of ctx. A trial that fails is
// not an error.
func FirstRun(ctx context.Context, config dynajournal.Config, each func(Trial)) (err error) {
	suffix := make([]byte, 6)
	if _, err := rand.Read(suffix); err != nil {
		return fmt.Errorf("make a name for the tables: %w", err)
	}
	name := "dynajournal-doctor-" + hex.EncodeToString(suffix)
	config.JournalTable, config.SnapshotTable = name, name+"-snapshot"
	wire := &wire{inner: config.AWS.HTTPClient}
	config.AWS = config.AWS.Copy()
	config.AWS.HTTPClient = wire
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		err = errors.Join(err, removeTables(ctx, config))
	}()
	create := dynajournal.TableOptions{Projections: true, Stream: true}
	if err := dynajournal.CreateTables(ctx, config, create); err != nil {
		return fmt.Errorf("create tables: %w", err)
	}
	t, err := newTrials(ctx, config, wire)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.journal.Close()) }()
	for _, of := range t.all() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		start := time.Now()
		status, found := of.try(ctx)
		each(Trial{of.name, status, of.expected, found, time.Since(start)})
	}
	return nil
}

// removeTables deletes the tables of a first run.
func removeTables(ctx context.Context, config dynajournal.Config) error {
	if _, err := dynajournal.DeleteTables(ctx, config); err != nil {
		return fmt.Errorf("delete the tables %s*, which cost nothing while nothing uses them: %w", config.JournalTable, err)
	}
	return nil
}

// trials are the trials of a first run.
type trials struct {
	config  dynajournal.Config
	wire    *wire
	client  *dynamodb.Client
	journal *dynajournal.Journal
	table   *string
}

// trial is something to try. try returns the status and a text.
type trial struct {
	name, expected string
	try            func(context.Context) (Status, string)
}

func newTrials(ctx context.Context, config dynajournal.Config, w *wire) (*trials, error) {
	j, err := dynajournal.Open(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	awsConfig := config.AWS.Copy()
	if config.Endpoint != "" {
		awsConfig.BaseEndpoint = aws.String(config.Endpoint)
	}
	return &trials{
		config: config, wire: w, journal: j, table: aws.String(config.JournalTable),
		client: dynamodb.NewFromConfig(awsConfig),
	}, nil
}

// all returns the trials, in their order.
func (t *trials) all() []trial {
	return []trial{
		{"tables.again", "creating the tables again changes nothing", t.tablesAgain},
		{"wire.responses", "each response has a checksum that is right, a date and an id", t.wireResponses},
		{"wire.codecs", "the SDK reads what dynajournal's codec has written, and the other way round", t.wireCodecs},
		{"partiql.types", "25 items of all types are inserted by one request", t.partiQLTypes},
		{"partiql.duplicates", "24 duplicates are refused one by one, and the new item is inserted", t.partiQLDuplicates},
		{"partiql.same_key", "a batch with one key twice is refused as a whole", t.partiQLSameKey},
		{"tables.arn", "a table can be named by its ARN", t.tableByARN},
		{"size.limit", "an item of 409,600 bytes is accepted, and one of 409,601 is refused", t.sizeLimit},
		{"keys.unusual", "persistence ids with NUL, quotes, emoji and 1,000 bytes are stored and listed", t.unusualKeys},
		{"snapshots.large", "a snapshot of 1 MB is saved in parts, loaded and deleted", t.largeSnapshot},
		{"writers.two", "of two writers, one wins each number, and the other one ends", t.twoWriters},
		{"writes.interrupted", "of an interrupted atomic write no event is visible", t.interruptedWrite},
		{"reads.consistent", "a consistent read finds each write before it", t.consistentReads},
		{"delete.purge", "a purged persistence id continues after its last number", t.deleteAndPurge},
		{"transactions.large", "100 items are written together, and the same token writes them once", t.largeTransaction},
		{"stream.records", "the stream has an insertion with its new image", t.streamRecords},
	}
}

// failedTrial returns the status and the text of an error.
func failedTrial(err error) (Status, string) { return StatusError, err.Error() }
