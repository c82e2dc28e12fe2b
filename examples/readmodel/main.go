// Command readmodel keeps the balances of accounts in a SQLite database, beside their journal: a
// read model. A projection adds every event of every account once. Whoever has written waits for it
// before reading.
//
// It is a module of its own for the database's driver.
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
	_ "modernc.org/sqlite"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/serialization"
)

// Changed is the event of an account.
type Changed struct{ By int }

const table = `CREATE TABLE balances (account text PRIMARY KEY, balance bigint NOT NULL)`

// add adds an event to the balance of its account. The projection stores in the same transaction
// that it was handled, so it is added once, whatever crashes.
func add(ctx context.Context, tx *sql.Tx, event dynajournal.Event) error {
	changed, err := dynajournal.Decode[Changed](event)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO balances (account, balance) VALUES (?, ?)
		ON CONFLICT (account) DO UPDATE SET balance = balance + excluded.balance`, event.PersistenceID, changed.By)
	if err != nil {
		return fmt.Errorf("add to the balance: %w", err)
	}
	return nil
}

// bank is the journal of the accounts, and their read model.
type bank struct {
	journal *dynajournal.Journal
	db      *sql.DB
	group   *projection.Group
}

// change writes events of an account, and returns the balance behind them.
func (b *bank) change(ctx context.Context, account string, by ...any) (balance int, err error) {
	writer, err := b.journal.Recover(ctx, account, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		return 0, err
	}
	written, err := writer.Append(ctx, by...)
	if err != nil {
		return 0, err
	}
	b.group.Trigger(account) // else the stream finds the events a moment later
	if err := projection.WaitForSQL(ctx, b.journal, b.db, projection.SQLite, "bank/balances", account, written.Last); err != nil {
		return 0, err
	}
	err = b.db.QueryRowContext(ctx, `SELECT balance FROM balances WHERE account = ?`, account).Scan(&balance)
	return balance, err
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

	folder, err := os.MkdirTemp("", "readmodel")
	check(err)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "balances.db")+"?_pragma=busy_timeout(5000)")
	check(err)
	_, err = db.ExecContext(ctx, table)
	check(err)
	client := dynamodbstreams.NewFromConfig(engine.AWSConfig())
	group, err := projection.New(journal, projection.Config{
		Name:   "bank",
		Source: projection.Streams(client, projection.StreamsOptions{}),
	}, projection.SQL("balances", db, projection.SQLite, projection.SQLFunc(add)))
	check(err)
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()

	b := &bank{journal, db, group}
	for _, by := range [][]any{{Changed{By: 12}, Changed{By: -5}}, {Changed{By: 30}}} {
		balance, err := b.change(ctx, "anna", by...)
		check(err)
		fmt.Println("anna has", balance)
	}

	cancel()
	check(errors.Join(<-ended, db.Close(), os.RemoveAll(folder), journal.Close(), engine.Close()))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
