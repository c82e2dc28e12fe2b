package awslambda

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// EventError reports an invalid event of Lambda. It is an ErrInvalidEvent.
type EventError struct {
	// Record is the index of the record in the event, or -1 if the error concerns the whole event.
	Record int
	Err    error
}

func (e *EventError) Error() string {
	if e.Record < 0 {
		return fmt.Sprintf("%v: %v", ErrInvalidEvent, e.Err)
	}
	return fmt.Sprintf("%v: record %d: %v", ErrInvalidEvent, e.Record, e.Err)
}

// Is reports whether target is ErrInvalidEvent.
func (e *EventError) Is(target error) bool { return target == ErrInvalidEvent }

func (e *EventError) Unwrap() error { return e.Err }

// lambdaEvent is an event of Lambda for a stream of DynamoDB.
type lambdaEvent struct {
	Records *[]lambdaRecord `json:"Records"`
}

type lambdaRecord struct {
	EventName      string `json:"eventName"`
	EventSource    string `json:"eventSource"`
	EventSourceARN string `json:"eventSourceARN"`
	Change         *struct {
		// Created is in seconds since 1970.
		Created  float64                     `json:"ApproximateCreationDateTime"`
		Keys     map[string]*lambdaAttribute `json:"Keys"`
		NewImage map[string]*lambdaAttribute `json:"NewImage"`
		Sequence string                      `json:"SequenceNumber"`
	} `json:"dynamodb"`
}

// lambdaAttribute is a value of an item. Exactly one of its fields is set.
type lambdaAttribute struct {
	S    *string
	N    *string
	B    *[]byte
	BOOL *bool
	NULL *bool
	SS   []string
	NS   []string
	BS   [][]byte
	M    map[string]*lambdaAttribute
	L    []*lambdaAttribute
}

// maxCreated limits the time of a record, in seconds since 1970. A time out of range counts as
// missing.
const maxCreated = 1 << 40

// parse returns the records of an event. The error is an *EventError if a record is not from the
// stream of the journal table, or does not have the form that Lambda documents: then no record is
// handled.
func parse(g *engine.Group, event json.RawMessage) (*batch, error) {
	if g.Config.Source.Kind() != engine.SourceLambda {
		return nil, engine.Argument("Config.Source", g.Config.Source.Kind(), "it must be awslambda.Source")
	}
	var of lambdaEvent
	if err := json.Unmarshal(event, &of); err != nil {
		return nil, &EventError{-1, err}
	}
	if of.Records == nil {
		return nil, &EventError{-1, errors.New("the field Records is missing")}
	}
	b, ids := &batch{}, map[string]*batchID{}
	for i := range *of.Records {
		if err := parseRecord(g, b, ids, &(*of.Records)[i]); err != nil {
			return nil, &EventError{i, err}
		}
	}
	return b, nil
}

// parseRecord adds a record to the batch if it can be of an event or of a purge.
func parseRecord(g *engine.Group, b *batch, ids map[string]*batchID, r *lambdaRecord) error {
	table := core.Of(g.Journal).Table
	switch {
	case r.EventSource != "aws:dynamodb":
		return fmt.Errorf("eventSource is %q, want \"aws:dynamodb\"", r.EventSource)
	case tableOf(r.EventSourceARN) != tableName(table):
		return fmt.Errorf("eventSourceARN %q is not a stream of the journal table %q", r.EventSourceARN, table)
	case r.Change == nil:
		return errors.New("the field dynamodb is missing")
	case !isSequence(r.Change.Sequence):
		return fmt.Errorf("invalid SequenceNumber %q", r.Change.Sequence)
	}
	operation := types.OperationType(r.EventName)
	switch operation {
	case types.OperationTypeInsert, types.OperationTypeModify, types.OperationTypeRemove:
	default:
		return fmt.Errorf("unknown eventName %q", r.EventName)
	}
	par := r.Change.Keys[engine.AttrPar]
	if par == nil || par.S == nil {
		return errors.New("the key par is missing or not a string")
	}
	image, err := lambdaItem(r.Change.NewImage)
	if err != nil {
		return fmt.Errorf("decode NewImage: %w", err)
	}
	if created := r.Change.Created; created > 0 && created < maxCreated {
		at := time.Unix(int64(created), 0)
		if b.oldest.IsZero() || at.Before(b.oldest) {
			b.oldest = at
		}
	}
	if pid, ok := g.TriggeredBy(operation, *par.S, engine.ShowsPurge(image)); ok {
		b.add(ids, pid, r.Change.Sequence, g.RecordOf(*par.S, image))
	}
	return nil
}

// tableOf returns the name of the table of a stream.
func tableOf(arn string) string {
	name, _, ok := strings.Cut(tableName(arn), "/stream/")
	if !ok {
		return ""
	}
	return name
}

// tableName returns the name of a table from its name or its ARN.
func tableName(table string) string {
	if _, name, ok := strings.Cut(table, ":table/"); ok {
		return name
	}
	return table
}

// isSequence reports whether a text is a sequence number of a stream: up to 40 decimal digits.
func isSequence(s string) bool {
	const most = 40
	return s != "" && len(s) <= most && strings.Trim(s, "0123456789") == ""
}

// lambdaItem decodes an image.
func lambdaItem(of map[string]*lambdaAttribute) (dynamo.Attributes, error) {
	item := make(dynamo.Attributes, len(of))
	for name, a := range of {
		value, err := a.value()
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		item[name] = value
	}
	return item, nil
}

// value decodes the attribute. It must not be null, and must have exactly one type.
func (a *lambdaAttribute) value() (dynamotypes.AttributeValue, error) {
	if a == nil {
		return nil, errors.New("the value is null")
	}
	var found []dynamotypes.AttributeValue
	add := func(v dynamotypes.AttributeValue, ok bool) {
		if ok {
			found = append(found, v)
		}
	}
	if a.S != nil {
		add(&dynamotypes.AttributeValueMemberS{Value: *a.S}, true)
	}
	if a.N != nil {
		add(&dynamotypes.AttributeValueMemberN{Value: *a.N}, true)
	}
	if a.B != nil {
		add(&dynamotypes.AttributeValueMemberB{Value: *a.B}, true)
	}
	if a.BOOL != nil {
		add(&dynamotypes.AttributeValueMemberBOOL{Value: *a.BOOL}, true)
	}
	add(&dynamotypes.AttributeValueMemberNULL{Value: true}, a.NULL != nil)
	add(&dynamotypes.AttributeValueMemberSS{Value: a.SS}, a.SS != nil)
	add(&dynamotypes.AttributeValueMemberNS{Value: a.NS}, a.NS != nil)
	add(&dynamotypes.AttributeValueMemberBS{Value: a.BS}, a.BS != nil)
	if a.M != nil {
		members, err := lambdaItem(a.M)
		if err != nil {
			return nil, err
		}
		add(&dynamotypes.AttributeValueMemberM{Value: members}, true)
	}
	if a.L != nil {
		list := make([]dynamotypes.AttributeValue, len(a.L))
		for i := range a.L {
			var err error
			if list[i], err = a.L[i].value(); err != nil {
				return nil, err
			}
		}
		add(&dynamotypes.AttributeValueMemberL{Value: list}, true)
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("the value has %d types, want 1", len(found))
	}
	return found[0], nil
}
