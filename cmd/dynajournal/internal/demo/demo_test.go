//go:build long

package demo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/cmd/dynajournal/internal/demo"
	"github.com/dynajournal/dynajournal/embedded"
)

func open(t *testing.T) aws.Config {
	t.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine.AWSConfig()
}

func TestRunShowsEverythingAndEnds(t *testing.T) {
	var out strings.Builder
	config := open(t)
	for _, suffix := range []string{"", "-again"} {
		if err := demo.Run(t.Context(), demo.Options{AWS: config, Out: &out, IDSuffix: suffix,
			Color: suffix != ""}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"it is not known whether the events were written", "another writer has written to this persistence id", "ConditionalCheckFailedException",
		"write units", "demo: ok",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%q was not shown", want)
		}
	}
}

func TestRunFitsEightyColumns(t *testing.T) {
	var out strings.Builder
	if err := demo.Run(t.Context(), demo.Options{AWS: open(t), Out: &out}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 80 {
			t.Errorf("%d columns: %s", width, line)
		}
	}
}

// careless is a store that puts items without checking conditions.
type careless struct{ engine aws.HTTPClient }

func (c careless) Do(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.Header.Get("X-Amz-Target"), ".PutItem") {
		return c.engine.Do(request)
	}
	var content map[string]any
	err := json.NewDecoder(request.Body).Decode(&content)
	if err = errors.Join(err, request.Body.Close()); err != nil {
		return nil, err
	}
	for _, name := range []string{"ConditionExpression", "ExpressionAttributeValues",
		"ReturnValuesOnConditionCheckFailure"} {
		delete(content, name)
	}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return c.engine.Do(request)
}

func TestRunFailsOnAStoreThatDoesNotFence(t *testing.T) {
	config := open(t)
	config.HTTPClient = careless{config.HTTPClient}
	var out strings.Builder
	err := demo.Run(t.Context(), demo.Options{AWS: config, Out: &out})
	if err == nil || strings.Contains(out.String(), "demo: ok") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := demo.Run(ctx, demo.Options{AWS: open(t), Out: io.Discard}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

type broken struct{}

var errBroken = errors.New("the disk is full")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestRunFailsIfItCantBeShown(t *testing.T) {
	if err := demo.Run(t.Context(), demo.Options{AWS: open(t), Out: broken{}}); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}
