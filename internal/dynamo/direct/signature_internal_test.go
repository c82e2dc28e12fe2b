package direct

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// sampleTemplate returns a template like those made from the SDK's requests.
func sampleTemplate(tb testing.TB, address string) *template {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	return &template{
		scope: scope{"eu-west-1", "dynamodb"}, url: u, accessKey: "id",
		header: http.Header{
			"X-Amz-Target": {"DynamoDB_20120810.PutItem"}, "User-Agent": {"tester"}, "Accept-Encoding": {"identity"},
			"Content-Type": {"application/x-amz-json-1.0"},
		},
	}
}

// signedBySDK returns the headers of a template's request, signed by the SDK's signer.
func signedBySDK(t *testing.T, of *template, c aws.Credentials, body []byte, now time.Time) http.Header {
	t.Helper()
	r, sum := of.request(t.Context(), body), sha256.Sum256(body)
	err := v4.NewSigner().SignHTTP(t.Context(), c, r, hex.EncodeToString(sum[:]), of.service, of.region, now)
	if err != nil {
		t.Fatal(err)
	}
	return r.Header
}

// A key is derived for one day, one secret and one region. Each request here changes one of them.
func TestSignature_EqualsSDK(t *testing.T) {
	t.Parallel()
	var keys keyCache
	now := time.Date(2026, 12, 31, 23, 59, 59, 0, time.FixedZone("", 3600))
	credentials := aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}
	of, body := sampleTemplate(t, "https://dynamodb.invalid/"), []byte("{}")
	check := func(what string) {
		t.Helper()
		r := of.request(t.Context(), body)
		newSigner(of).sign(r, body, &credentials, &keys, now)
		want := signedBySDK(t, of, credentials, body, now)
		if !maps.EqualFunc(r.Header, want, slices.Equal[[]string]) {
			t.Errorf("%s: signed\n%v\nthe SDK\n%v", what, r.Header, want)
		}
	}
	check("the first request")
	body = []byte(`{"Item":{}}`)
	check("another body")
	credentials.SessionToken = "token"
	check("a token")
	credentials.SecretAccessKey = "other"
	check("another secret of the same access key")
	now = now.Add(time.Hour)
	check("the next day")
	of.region = "eu-west-2"
	check("another region")
	of.url.Host = "dynamodb.invalid:8000"
	check("another host")
	of.header.Set("X-Amz-Target", "DynamoDB_20120810.Query")
	check("another operation")
}

func FuzzSignature(f *testing.F) {
	f.Add([]byte("{}"), "id", "secret", "", "eu-west-1", "tester", int64(1_800_000_000))
	f.Add([]byte{}, "", "", "to ken", "", " a  b ", int64(0))
	f.Fuzz(func(t *testing.T, body []byte, id, secret, token, region, value string, at int64) {
		of, now := sampleTemplate(t, "http://127.0.0.1:8000"), time.Unix(at%(1<<36), 0)
		of.region, of.header["Accept-Encoding"] = region, []string{value}
		credentials := aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: token}
		if len(body) == 0 || now.Year() < 0 || now.Year() > 9999 {
			t.Skip("no request of DynamoDB has no body or such a date")
		}
		sender := &Sender{
			sdkSigner:   v4.NewSigner(),
			credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, nil }),
		}
		own := sender.signerOf(t.Context(), of)
		if own == nil {
			return // the SDK signs
		}
		r := of.request(t.Context(), body)
		own.sign(r, body, &credentials, &sender.keys, now)
		if want := signedBySDK(t, of, credentials, body, now); !maps.EqualFunc(r.Header, want, slices.Equal[[]string]) {
			t.Errorf("signed\n%v\nthe SDK\n%v", r.Header, want)
		}
	})
}

// Requests that the SDK's signer treats in a way that signer does not know must be left to the SDK.
func TestTemplate_NotSignedLikeSDK(t *testing.T) {
	t.Parallel()
	credentials := aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}
	provider := func(err error) aws.CredentialsProvider {
		return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, err })
	}
	for name, test := range map[string]struct {
		address string
		value   string
		err     error
		want    bool
	}{
		"a plain request":    {"https://dynamodb.invalid/", "identity", nil, true},
		"a path":             {"https://proxy.invalid/dynamodb/", "identity", nil, true},
		"no path":            {"https://dynamodb.invalid", "identity", nil, true},
		"a port":             {"https://dynamodb.invalid:8443/", "identity", nil, true},
		"a path to escape":   {"https://proxy.invalid/a%20b/", "identity", nil, false},
		"a query":            {"https://proxy.invalid/?a=b", "identity", nil, false},
		"a default port":     {"https://dynamodb.invalid:443/", "identity", nil, false},
		"spaces in a header": {"https://dynamodb.invalid/", "a  b", nil, false},
		"no credentials":     {"https://dynamodb.invalid/", "identity", context.Canceled, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := sampleTemplate(t, test.address)
			of.header.Set("Accept-Encoding", test.value)
			s := &Sender{sdkSigner: v4.NewSigner(), credentials: provider(test.err)}
			if got := s.signerOf(t.Context(), of) != nil; got != test.want {
				t.Errorf("signed here: %t, want %t", got, test.want)
			}
		})
	}
}

func BenchmarkSignature(b *testing.B) {
	of := sampleTemplate(b, "https://dynamodb.invalid/")
	credentials := aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}
	body, own, theirs := make([]byte, 1000), newSigner(of), v4.NewSigner()
	var keys keyCache
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			own.sign(of.request(b.Context(), body), body, &credentials, &keys, time.Now())
		}
	})
	b.Run("SDK", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r, sum := of.request(b.Context(), body), sha256.Sum256(body)
			_ = theirs.SignHTTP(b.Context(), credentials, r, hex.EncodeToString(sum[:]), of.service, of.region, time.Now())
		}
	})
}
