package systemtest

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

func TestTablesAreDescribed(t *testing.T) {
	t.Parallel()
	key := func(names ...string) []dynajournal.KeyAttribute {
		var keys []dynajournal.KeyAttribute
		for _, name := range names {
			kind := "N"
			if name == "par" || name == "ids_key" {
				kind = "S"
			}
			keys = append(keys, dynajournal.KeyAttribute{Name: name, Type: kind})
		}
		return keys
	}
	const off = "DISABLED"
	const events, snapshots = dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable
	for name, c := range map[string]struct {
		options dynajournal.TableOptions
		shards  int
		want    []dynajournal.Table
	}{
		"native": {dynajournal.TableOptions{}, 0, []dynajournal.Table{
			{
				Name: events, Status: "ACTIVE", Keys: key("par", "num"), TTL: "expires", TTLStatus: "ENABLED",
				Indexes: []dynajournal.Index{
					{Name: "ids-idx", Keys: key("ids_shard", "ids_key"), Status: "ACTIVE"},
				},
				Version: 2, Kind: "native", Shards: 1, FenceWindow: 24 * time.Hour, Items: 1, Bytes: 58, PointInTimeRecovery: off,
			},
			{Name: snapshots, Status: "ACTIVE", Keys: key("par", "seq"), TTL: "expires", TTLStatus: "ENABLED", PointInTimeRecovery: off},
		}},
		"shared, provisioned": {
			dynajournal.TableOptions{SharedWithJVM: true, ReadUnits: 7, WriteUnits: 9}, 4,
			[]dynajournal.Table{
				{
					Name: events, Status: "ACTIVE", Keys: key("par", "num"), TTL: "expires", TTLStatus: "ENABLED",
					Indexes: []dynajournal.Index{{
						Name: "persistence-ids-idx", Keys: key("num"), Status: "ACTIVE", ReadUnits: 7, WriteUnits: 9,
					}},
					ReadUnits: 7, WriteUnits: 9,
					Version: 1, Kind: "shared", Shards: 4, FenceWindow: 24 * time.Hour, Items: 1, Bytes: 57, PointInTimeRecovery: off,
				},
				{
					Name: snapshots, Status: "ACTIVE", Keys: key("par", "seq"), TTL: "expires", TTLStatus: "ENABLED",
					Indexes:   []dynajournal.Index{{Name: "ts-idx", Keys: key("par", "ts"), Local: true}},
					ReadUnits: 7, WriteUnits: 9, PointInTimeRecovery: off,
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig(), SequenceShards: c.shards}
			createTables(t, config, c.options)
			got, err := dynajournal.DescribeTables(t.Context(), config)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("described as\n%+v, %v, want\n%+v", got, err, c.want)
			}
		})
	}
}

// TestDescribeTables_StreamAndTTLStatus uses responses that the engine never gives,
// because it switches TTL on and off at once.
func TestDescribeTables_StreamAndTTLStatus(t *testing.T) {
	t.Parallel()
	for status, ttl := range map[string]string{"ENABLING": "expires", "DISABLING": "", "DISABLED": ""} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			plain := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
			createTables(t, plain, dynajournal.TableOptions{})
			config := relayed(plain, func(operation string, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				if operation == "DescribeTimeToLive" {
					const body = `{"TimeToLiveDescription":{"AttributeName":"expires","TimeToLiveStatus":"%"}}`
					return answerOf(r, http.StatusOK, strings.Replace(body, "%", status, 1)), nil
				}
				answer, err := send()
				if err != nil || operation != "DescribeTable" {
					return answer, err
				}
				body, err := io.ReadAll(answer.Body)
				if err != nil {
					return nil, err
				}
				const stream = `"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"},"TableName"`
				return answerOf(r, answer.StatusCode, strings.Replace(string(body), `"TableName"`, stream, 1)), nil
			})
			got, err := dynajournal.DescribeTables(t.Context(), config)
			if err != nil || len(got) != 2 || got[0].Stream != "NEW_IMAGE" || got[0].TTL != ttl || got[0].TTLStatus != status {
				t.Errorf("described as %+v, %v", got, err)
			}
		})
	}
}

// TestTablesOfOthersAreDescribed describes a table without the key of a journal, which cannot have
// a header, and a table with the header of a later release.
func TestTablesOfOthersAreDescribed(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, config, dynajournal.TableOptions{})
	client := dynamodb.NewFromConfig(config.AWS)
	header := map[string]types.AttributeValue{
		"par":     &types.AttributeValueMemberS{Value: "later-META"},
		"num":     &types.AttributeValueMemberN{Value: "0"},
		"version": &types.AttributeValueMemberN{Value: "3"},
	}
	put := &dynamodb.PutItemInput{TableName: aws.String(dynajournal.DefaultJournalTable), Item: header}
	if _, err := client.PutItem(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:   aws.String("another"),
		KeySchema:   []types.KeySchemaElement{{AttributeName: aws.String("key"), KeyType: types.KeyTypeHash}},
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("key"), AttributeType: types.ScalarAttributeTypeS},
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	later := config
	later.JournalName = "later"
	got, err := dynajournal.DescribeTables(t.Context(), later)
	if err != nil || len(got) != 2 || got[0].Version != 3 || got[0].Kind != "" || got[0].Shards != 0 {
		t.Errorf("a header of a later release: %+v, %v", got, err)
	}

	other := config
	other.JournalTable = "another"
	got, err = dynajournal.DescribeTables(t.Context(), other)
	want := []dynajournal.KeyAttribute{{Name: "key", Type: "S"}}
	if err != nil || len(got) != 2 || !reflect.DeepEqual(got[0].Keys, want) || got[0].Version != 0 {
		t.Errorf("a table with another key: %+v, %v", got, err)
	}
	err = dynajournal.CreateTables(t.Context(), other, dynajournal.TableOptions{})
	if !errors.Is(err, dynajournal.ErrTableSchema) {
		t.Errorf("making a journal of a table with another key: %v", err)
	}
}
