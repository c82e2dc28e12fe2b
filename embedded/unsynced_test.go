package embedded_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/dynajournal/dynajournal/embedded"
)

// blockingFS blocks the syncs of logs while blocking is set.
type blockingFS struct {
	vfs.FS

	blocking *atomic.Bool
	release  chan struct{}
}

func (f blockingFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, category)
	if err == nil && strings.HasSuffix(name, ".log") {
		file = blockingFile{file, f}
	}
	return file, err
}

type blockingFile struct {
	vfs.File

	fs blockingFS
}

func (f blockingFile) SyncData() error {
	if f.fs.blocking.Load() {
		<-f.fs.release
	}
	return f.File.SyncData()
}

func TestReads_WaitForSync(t *testing.T) {
	for name, read := range map[string]func(*dynamodb.Client) error{
		"GetItem": func(c *dynamodb.Client) error {
			_, err := c.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: aws.String("rich"), Key: storageKey("a")})
			return err
		},
		"BatchGetItem": func(c *dynamodb.Client) error {
			_, err := c.BatchGetItem(context.Background(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
				"rich": {Keys: []attributes{storageKey("a")}},
			}})
			return err
		},
		"Scan": func(c *dynamodb.Client) error {
			_, err := c.Scan(context.Background(), &dynamodb.ScanInput{TableName: aws.String("rich")})
			return err
		},
		"Scan of an index": func(c *dynamodb.Client) error {
			_, err := c.Scan(context.Background(), &dynamodb.ScanInput{TableName: aws.String("rich"), IndexName: aws.String("group")})
			return err
		},
		"TransactGetItems": func(c *dynamodb.Client) error {
			_, err := c.TransactGetItems(context.Background(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
				{Get: &types.Get{TableName: aws.String("rich"), Key: storageKey("a")}},
			}})
			return err
		},
		"ExecuteStatement": func(c *dynamodb.Client) error {
			_, err := c.ExecuteStatement(context.Background(), &dynamodb.ExecuteStatementInput{Statement: aws.String(`SELECT * FROM "rich"`)})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs := blockingFS{vfs.NewMem(), new(atomic.Bool), make(chan struct{})}
				engine, err := embedded.Open("data", embedded.WithFS(fs), embedded.WithSweepInterval(0))
				if err != nil {
					t.Fatal(err)
				}
				load := newStorageLoad()
				load.client = clientOf(engine)
				var create dynamodb.CreateTableInput
				createOf(&create)
				if _, err := load.client.CreateTable(t.Context(), &create); err != nil {
					t.Fatal(err)
				}
				fs.blocking.Store(true)
				written, shown := make(chan error, 1), make(chan error, 1)
				go func() { written <- load.put("a", "1") }()
				synctest.Wait()
				go func() { shown <- read(load.client) }()
				synctest.Wait()
				select {
				case err := <-shown:
					t.Errorf("the read returned before the write was synced, with the error %v", err)
					shown <- nil
				default:
				}
				fs.blocking.Store(false)
				close(fs.release)
				if err := <-written; err != nil {
					t.Error(err)
				}
				if err := <-shown; err != nil {
					t.Error(err)
				}
				if err := engine.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
