// Command readmodel maintains a read model of a journal: the balances of accounts, in a database. A
// projection adds every event of every account once, and removes the balance of an account that is
// purged. After a write, the program waits for the projection before it reads.
//
// The database is PostgreSQL if POSTGRES has a connection string. Otherwise it is a SQLite file.
//
//	cd examples/readmodel && POSTGRES="host=localhost user=bank dbname=bank" go run .
//
// It is a separate module because of its dependencies on database drivers.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/sqlprojection"
	"github.com/dynajournal/dynajournal/serialization"
)

// Changed is the event of an account.
type Changed struct{ By int }

const table = `CREATE TABLE balances (account text PRIMARY KEY, balance bigint NOT NULL)`

// balances is the handler of the projection.
type balances struct{}

// Handle adds an event to the balance of its account. The projection stores its offset in the same
// transaction, so the event is added once, even after a crash.
func (balances) Handle(ctx context.Context, tx *sql.Tx, event dynajournal.Event) error {
	changed, err := dynajournal.Decode[Changed](ctx, event)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO balances (account, balance) VALUES ($1, $2)
		ON CONFLICT (account) DO UPDATE SET balance = balances.balance + excluded.balance`, event.PersistenceID, changed.By)
	if err != nil {
		return fmt.Errorf("add to the balance: %w", err)
	}
	return nil
}

// HandlePurge removes the balance of an account whose events are purged.
func (balances) HandlePurge(ctx context.Context, tx *sql.Tx, purge projection.Purge) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM balances WHERE account = $1`, purge.PersistenceID)
	return err
}

// store is the database of the read model.
type store struct {
	db      *sql.DB
	dialect sqlprojection.Dialect
	// folder is the folder of the SQLite file. It is empty for PostgreSQL.
	folder string
}

// openStore opens the database of a connection string, or a new SQLite file if the string is empty.
func openStore(postgres string) (store, error) {
	if postgres != "" {
		db, err := sql.Open("pgx", postgres)
		return store{db: db, dialect: sqlprojection.Postgres}, err
	}
	folder, err := os.MkdirTemp("", "readmodel")
	if err != nil {
		return store{}, err
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "balances.db")+"?_pragma=busy_timeout(5000)")
	return store{db, sqlprojection.SQLite, folder}, err
}

func (s *store) close() error {
	err := s.db.Close()
	if s.folder != "" {
		err = errors.Join(err, os.RemoveAll(s.folder))
	}
	return err
}

// bank has the journal of the accounts and their read model.
type bank struct {
	journal *dynajournal.Journal
	store
	group *projection.Group
}

// change writes events of an account, and returns the balance after them.
func (b *bank) change(ctx context.Context, account string, by ...any) (balance int, err error) {
	writer, err := b.journal.Recover(ctx, account, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		return 0, err
	}
	written, err := writer.Append(ctx, by...)
	if err != nil {
		return 0, err
	}
	b.group.Trigger(account) // the stream would find them a moment later
	if err := sqlprojection.WaitFor(ctx, b.journal, b.db, b.dialect, "bank/balances", account, written.Last); err != nil {
		return 0, err
	}
	err = b.db.QueryRowContext(ctx, `SELECT balance FROM balances WHERE account = $1`, account).Scan(&balance)
	return balance, err
}

// erase purges an account, and waits until its balance is removed.
func (b *bank) erase(ctx context.Context, account string) error {
	writer, err := b.journal.Recover(ctx, account, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		return err
	}
	purged, err := writer.NextSequenceNumber(ctx) // the purge takes this number
	if err != nil {
		return err
	}
	if _, err := writer.Purge(ctx, dynajournal.PurgeOptions{}); err != nil {
		return err
	}
	b.group.Trigger(account)
	return sqlprojection.WaitFor(ctx, b.journal, b.db, b.dialect, "bank/balances", account, purged)
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	engine, err := embedded.OpenMemory() // a DynamoDB in this process; on AWS, load an aws.Config
	check(err)
	events := serialization.NewRegistry()
	check(serialization.JSON[Changed](events, "changed"))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{Projections: true, Stream: true}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)

	store, err := openStore(os.Getenv("POSTGRES"))
	check(err)
	_, err = store.db.ExecContext(ctx, table)
	check(err)
	client := dynamodbstreams.NewFromConfig(engine.AWSConfig())
	group, err := projection.New(journal, projection.Config{
		Name:   "bank",
		Source: projection.Streams(client, projection.StreamsOptions{}),
	}, sqlprojection.New("balances", store.db, store.dialect, balances{}))
	check(err)
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()

	b := &bank{journal, store, group}
	for _, by := range [][]any{{Changed{By: 12}, Changed{By: -5}}, {Changed{By: 30}}} {
		balance, err := b.change(ctx, "anna", by...)
		check(err)
		fmt.Println("anna has", balance)
	}
	_, err = b.change(ctx, "otto", Changed{By: 3})
	check(err)
	check(b.erase(ctx, "otto"))
	var accounts int
	check(b.db.QueryRowContext(ctx, `SELECT count(*) FROM balances`).Scan(&accounts))
	fmt.Println("accounts:", accounts)

	cancel()
	check(errors.Join(<-ended, store.close(), journal.Close(), engine.Close()))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
