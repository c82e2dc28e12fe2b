package direct

import (
	"net/http"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

// signed returns a request as the SDK makes it, changed by change.
func signed(t *testing.T, change func(http.Header)) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://dynamodb.invalid/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"X-Amz-Target": {"DynamoDB_20120810.PutItem"},
		"User-Agent":   {"tester"},
		"X-Amz-Date":   {time.Now().UTC().Add(time.Hour).Format("20060102T150405Z")},
		"Authorization": {
			"AWS4-HMAC-SHA256 Credential=id/20000101/eu-west-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00",
		},
		"Amz-Sdk-Invocation-Id": {"1"},
	}
	change(r.Header)
	return r
}

func TestTemplate_CopiesSDKRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := signed(t, func(http.Header) {})
		got := newTemplate(r)
		want := &template{
			url:       r.URL,
			host:      "dynamodb.invalid",
			header:    http.Header{"X-Amz-Target": {"DynamoDB_20120810.PutItem"}, "User-Agent": {"tester"}},
			accessKey: "id", scope: scope{"eu-west-1", "dynamodb"}, clockOffset: time.Hour,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		r.Header["User-Agent"][0], r.URL.Host = "changed", "changed.invalid"
		if got.header.Get("User-Agent") != "tester" || got.url.Host != "dynamodb.invalid" {
			t.Errorf("a change of the request has changed its template to %+v", got)
		}
	})
}

func TestTemplate_UnknownRequestForm(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(http.Header){
		"another header":   func(h http.Header) { h.Set("X-Amz-Other", "1") },
		"no authorization": func(h http.Header) { h.Del("Authorization") },
		"another algorithm": func(h http.Header) {
			h.Set("Authorization", "AWS4-ECDSA-P256-SHA256 Credential=id/20000101/dynamodb/aws4_request")
		},
		"a scope without region": func(h http.Header) {
			h.Set("Authorization", "AWS4-HMAC-SHA256 Credential=id/20000101/dynamodb/aws4_request")
		},
		"no date":                        func(h http.Header) { h.Del("X-Amz-Date") },
		"a date that cannot be parsed":   func(h http.Header) { h.Set("X-Amz-Date", "today") },
		"a header that is not canonical": func(h http.Header) { h["x-amz-target"] = []string{"1"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := newTemplate(signed(t, change)); got != nil {
				t.Errorf("template %+v, want none", got)
			}
		})
	}
}
