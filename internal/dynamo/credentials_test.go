package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// renewing configures a provider that returns another access key for each call, and caches it like
// the SDK's providers.
func renewing(fetched *int) func(*dynamo.Options) {
	provider := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		*fetched++
		return aws.Credentials{AccessKeyID: fmt.Sprintf("id%d", *fetched), SecretAccessKey: "secret", SessionToken: "token"}, nil
	})
	return func(o *dynamo.Options) { o.AWS.Credentials = aws.NewCredentialsCache(provider) }
}

func accessKey(s sent) string {
	_, rest, _ := strings.Cut(s.header.Get("Authorization"), "Credential=")
	id, _, _ := strings.Cut(rest, "/")
	return id
}

func TestExpiredTokenIsRenewedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fetched := 0
		s := newScript(refuse(400, "ExpiredTokenException"), ok(`{}`))
		if err := put(t, client(t, s, renewing(&fetched))); err != nil {
			t.Fatal(err)
		}
		if attempts := s.attempts(); len(attempts) != 2 || accessKey(attempts[0]) != "id1" || accessKey(attempts[1]) != "id2" {
			t.Errorf("attempts with the keys %q, %q", accessKey(attempts[0]), accessKey(attempts[1]))
		}
	})
}

func TestTokenThatStaysExpiredEndsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fetched := 0
		s := newScript(refuse(400, "ExpiredTokenException"))
		err := put(t, client(t, s, renewing(&fetched)))
		if !errors.Is(err, dynamo.ErrDenied) || dynamo.MaybeApplied(err) || len(s.attempts()) != 2 {
			t.Errorf("%d attempts, error %v", len(s.attempts()), err)
		}
	})
}

func TestExpiredToken_RenewedAfterOtherFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fetched := 0
		s := newScript(throttle(), throttle(), refuse(400, "ExpiredTokenException"), ok(`{}`))
		if err := put(t, client(t, s, renewing(&fetched))); err != nil {
			t.Error(err)
		}
	})
}

func TestCredentialsAreFetchedOnceForManyRequests(t *testing.T) {
	fetched := 0
	c := client(t, newScript(ok(`{}`)), renewing(&fetched))
	for range 5 {
		if err := put(t, c); err != nil {
			t.Fatal(err)
		}
	}
	if fetched != 1 {
		t.Errorf("fetched %d times", fetched)
	}
}

func TestRequestWithoutCredentialsIsNotSent(t *testing.T) {
	s := newScript(ok(`{}`))
	none := errors.New("no credentials here")
	err := put(t, client(t, s, func(o *dynamo.Options) {
		o.AWS.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, none })
	}))
	if !errors.Is(err, dynamo.ErrDenied) || !errors.Is(err, none) || dynamo.MaybeApplied(err) || len(s.attempts()) != 0 {
		t.Errorf("%d requests, error %v", len(s.attempts()), err)
	}
}

// serverTime adds the date of a service with a correct clock to a step's responses.
func serverTime(now time.Time, s step) step {
	return func(r *http.Request) (*http.Response, error) {
		response, err := s(r)
		response.Header.Set("Date", now.UTC().Format(http.TimeFormat))
		return response, err
	}
}

func TestWrongClockIsCorrectedOnce(t *testing.T) {
	for name, off := range map[string]time.Duration{"slow": time.Hour, "fast": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				right := time.Now().Add(off)
				s := newScript(serverTime(right, refuse(400, "InvalidSignatureException")), serverTime(right, ok(`{}`)))
				c := client(t, s)
				for range 2 { // the second request is right from the start
					if err := put(t, c); err != nil {
						t.Fatal(err)
					}
				}
				attempts := s.attempts()
				if len(attempts) != 3 {
					t.Fatalf("%d attempts", len(attempts))
				}
				for i, want := range []time.Time{time.Now(), right, right} {
					signed, err := time.Parse("20060102T150405Z", attempts[i].header.Get("X-Amz-Date"))
					if err != nil || signed.Sub(want).Abs() > 2*time.Second {
						t.Errorf("attempt %d is signed at %v, want %v (%v)", i, signed, want, err)
					}
				}
			})
		})
	}
}

func TestSignatureThatStaysWrongEndsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(refuse(400, "InvalidSignatureException"))
		err := put(t, client(t, s))
		if !errors.Is(err, dynamo.ErrDenied) || dynamo.MaybeApplied(err) || len(s.attempts()) != 2 {
			t.Errorf("%d attempts, error %v", len(s.attempts()), err)
		}
	})
}
