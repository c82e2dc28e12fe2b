package embedded_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/embedded"
)

// dated sends requests to an engine, and records the Date of the last response.
type dated struct {
	inner http.RoundTripper
	date  string
}

// Do sends a request.
func (d *dated) Do(request *http.Request) (*http.Response, error) {
	response, err := d.inner.RoundTrip(request)
	if err == nil {
		d.date = response.Header.Get("Date")
	}
	return response, err
}

// An SDK learns the time from the Date of the response that refuses its signature, and signs again.
func TestFault_WrongClockRefusesSignaturesOfAnotherTime(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"wrong-clock,delay=14m":   "",
		"wrong-clock,delay=-14m":  "",
		"wrong-clock,delay=25h":   "Signature expired",
		"wrong-clock,delay=-25h":  "Signature not yet current",
		"wrong-clock,delay=8760h": "Signature expired",
	} {
		fault, err := embedded.ParseFault(spec)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := embedded.ParseFault(fault.String()); err != nil || again != fault {
			t.Errorf("%s: its text is parsed as %v, %v", spec, again, err)
		}
		now := time.Now()
		engine, err := embedded.OpenMemory(embedded.WithFaults(fault), embedded.WithClock(func() time.Time { return now }))
		if err != nil {
			t.Fatal(err)
		}
		client := &dated{inner: engine.Transport()}
		config := engine.AWSConfig()
		config.HTTPClient = client
		once := func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
		sdk := dynamodb.NewFromConfig(config)
		_, err = sdk.ListTables(context.WithoutCancel(t.Context()), nil, once)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
		if shown := now.Add(fault.Delay).UTC().Format(http.TimeFormat); client.date != shown {
			t.Errorf("%s: the response has the date %s, want %s", spec, client.date, shown)
		}
		if _, err := sdk.ListTables(context.WithoutCancel(t.Context()), nil, once); err != nil {
			t.Errorf("%s: after the SDK has learned the time: %v", spec, err)
		}
		closeEngine(t, engine)
	}
}
