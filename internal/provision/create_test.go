package provision_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// denied turns a response into the response to a request that a policy denies.
func denied(response *http.Response) *http.Response {
	_ = response.Body.Close()
	body := []byte(`{"__type":"com.amazon.coral.service#AccessDeniedException","message":"denied by the test"}`)
	response.StatusCode, response.ContentLength = http.StatusBadRequest, int64(len(body))
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	response.Header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response
}

// A creation that fails at any request leaves no header, or a journal with all its tables. The next
// creation completes the journal.
func TestHeaderIsWrittenLast(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]provision.Options{"native": native, "shared": shared} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for cut := 1; ; cut++ {
				s := newTables(t)
				// A table without a header gets one only if its number of shards is known.
				s.journal.SequenceShards = 1
				requests, last := 0, ""
				s.before = func(operation string) bool {
					requests++
					last = operation
					return requests < cut
				}
				err := s.journal.Create(t.Context(), s.client, opts)
				whole := requests < cut
				if (err == nil) != whole {
					t.Fatalf("cut at request %d of %d: %v", cut, requests, err)
				}
				if whole {
					if last != "PutItem" || s.header() == nil {
						t.Errorf("the last request is %s, and the header is %v", last, s.header())
					}
					return
				}
				if s.exists(events) && s.header() != nil {
					t.Errorf("cut at request %d, there is a header", cut)
				}
				s.before = func(string) bool { return true }
				s.create(opts)
				if !s.exists(snapshots) || s.header() == nil {
					t.Errorf("cut at request %d, the next creation leaves the header %v", cut, s.header())
				}
				found, err := s.journal.Inspect(t.Context(), s.client)
				if err != nil || !found.Indexed || (found.Header.Kind == layout.KindShared) != opts.SharedWithJVM {
					t.Errorf("cut at request %d, the next creation leaves %+v, %v", cut, found, err)
				}
			}
		})
	}
}

func TestHeaderHasTheSettingsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts   provision.Options
		shards int
		window time.Duration
		want   layout.Header
	}{
		"native":                {native, 0, 0, layout.Header{Kind: layout.KindNative, Shards: 1, IDsShards: 8, Version: 2, FenceWindow: layout.DefaultFenceWindow}},
		"shared":                {shared, 0, 0, layout.Header{Kind: layout.KindShared, Shards: 10, Version: 1, FenceWindow: layout.DefaultFenceWindow}},
		"shared, with a window": {shared, 7, 2 * time.Hour, layout.Header{Kind: layout.KindShared, Shards: 7, Version: 1, FenceWindow: 7200}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTables(t)
			s.journal.SequenceShards, s.journal.FenceWindow = c.shards, c.window
			s.create(c.opts)
			got, err := layout.Keys{Journal: "journal"}.DecodeHeader(s.header())
			if err != nil || got != c.want {
				t.Errorf("the header is %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

// Creation does not change existing tables and their items. Several journals can share tables,
// under different names.
func TestCreate_KeepsExistingTables(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.create(native)
	s.putHeader(func(item map[string]types.AttributeValue) { item["note"] = &types.AttributeValueMemberS{Value: "kept"} })
	s.create(native)
	if s.header()["note"] == nil {
		t.Error("a second creation puts another header")
	}
	if err := s.journal.Create(t.Context(), s.client, shared); !errors.Is(err, provision.ErrHeaderMismatch) {
		t.Errorf("the tables of a native journal are made for a shared one: %v", err)
	}
	s.journal.SequenceShards = 2
	if err := s.journal.Create(t.Context(), s.client, native); !errors.Is(err, provision.ErrHeaderMismatch) {
		t.Errorf("the tables of one shard are made for two: %v", err)
	}
	s.journal.Name = "other"
	s.create(native)
	if s.header() == nil {
		t.Error("a second journal in the same tables has no header")
	}
}

// Only the JVM's configuration knows the number of shards of a journal without a header.
func TestCreate_JVMTableGetsHeaderIfShardsKnown(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.table(&dynamodb.CreateTableInput{})
	if err := s.journal.Create(t.Context(), s.client, native); !errors.Is(err, provision.ErrHeaderMismatch) {
		t.Errorf("a JVM's table is made a native journal's: %v", err)
	}
	s.create(shared)
	if item := s.header(); item != nil {
		t.Errorf("without a number of shards it gets the header %v", item)
	}
	s.journal.SequenceShards = 20
	s.create(shared)
	if h, err := (layout.Keys{Journal: "journal"}).DecodeHeader(s.header()); err != nil || h.Shards != 20 || h.Kind != layout.KindShared {
		t.Errorf("the header is %+v, %v", h, err)
	}
}

func TestTablesWithAnotherKeyAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table string
		in    dynamodb.CreateTableInput
	}{
		"events without a range key": {events, dynamodb.CreateTableInput{
			KeySchema: key("par", ""), AttributeDefinitions: []types.AttributeDefinition{attribute("par", "S")},
		}},
		"events by another hash key": {events, dynamodb.CreateTableInput{
			KeySchema: key("key", "num"), AttributeDefinitions: []types.AttributeDefinition{attribute("key", "S"), attribute("num", "N")},
		}},
		"events by another range key": {events, dynamodb.CreateTableInput{
			KeySchema: key("par", "seq"), AttributeDefinitions: []types.AttributeDefinition{attribute("par", "S"), attribute("seq", "N")},
		}},
		"events by a binary hash key": {events, dynamodb.CreateTableInput{
			KeySchema: key("par", "num"), AttributeDefinitions: []types.AttributeDefinition{attribute("par", "B"), attribute("num", "N")},
		}},
		"events by text": {events, dynamodb.CreateTableInput{
			KeySchema: key("par", "num"), AttributeDefinitions: []types.AttributeDefinition{attribute("par", "S"), attribute("num", "S")},
		}},
		"snapshots by the events' range key": {snapshots, dynamodb.CreateTableInput{
			KeySchema: key("par", "num"), AttributeDefinitions: []types.AttributeDefinition{attribute("par", "S"), attribute("num", "N")},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTables(t)
			in := c.in
			in.TableName, in.BillingMode = aws.String(c.table), types.BillingModePayPerRequest
			if _, err := s.direct.CreateTable(t.Context(), &in); err != nil {
				t.Fatal(err)
			}
			if err := s.journal.Create(t.Context(), s.client, native); !errors.Is(err, provision.ErrTableSchema) {
				t.Errorf("Create: %v, want ErrTableSchema", err)
			}
			if c.table == snapshots {
				if s.header() != nil {
					t.Error("there is a header beside a snapshot table that can't be used")
				}
				return
			}
			if _, err := s.journal.Inspect(t.Context(), s.client); !errors.Is(err, provision.ErrTableSchema) {
				t.Errorf("Inspect: %v, want ErrTableSchema", err)
			}
			if _, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{}); !errors.Is(err, provision.ErrTableSchema) {
				t.Errorf("Update: %v, want ErrTableSchema", err)
			}
		})
	}
}

func TestErrorsNameTheTable(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.before = func(operation string) bool { return operation != "UpdateTimeToLive" }
	err := s.journal.Create(t.Context(), s.client, native)
	if !errors.Is(err, dynamo.ErrDenied) || !bytes.Contains([]byte(fmt.Sprint(err)), []byte(`journal table "events"`)) {
		t.Errorf("Create: %v, want ErrDenied that names the table", err)
	}
}
