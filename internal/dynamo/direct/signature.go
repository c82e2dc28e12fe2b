package direct

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// The parts of AWS Signature Version 4, in its canonical request and in its headers. See
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
const (
	algorithm     = "AWS4-HMAC-SHA256"
	scopeEnd      = "aws4_request"
	timeOfRequest = "20060102T150405Z"
	dayLength     = len("20060102")

	authorizationHeader = "Authorization"
	dateHeader          = "X-Amz-Date"
	tokenHeader         = "X-Amz-Security-Token"
	lengthHeader        = "Content-Length"
)

// scope is what a key signs for.
type scope struct{ region, service string }

// signer signs the requests of one template. The SDK's signer takes every request for one that it
// has never seen: it sorts and cleans its headers, and escapes its path. This one has done so once.
// It is only used where its signature of a sample is the SDK's: see [Sender.signerOf].
type signer struct {
	scope

	// path is the path of the requests, lines are their signed headers in the order of their names.
	path  string
	lines []line
}

// line is a signed header. value is empty for those that each request has its own value of.
type line struct{ header, name, value string }

// newSigner returns the signer of requests with a template's headers.
func newSigner(t *template) *signer {
	s := &signer{scope: t.scope, path: cmp.Or(t.url.EscapedPath(), "/")}
	s.lines = []line{
		{"Host", "host", cmp.Or(t.host, t.url.Host)},
		{lengthHeader, "content-length", ""}, {dateHeader, "x-amz-date", ""}, {tokenHeader, "x-amz-security-token", ""},
	}
	for header, values := range t.header {
		if header != "User-Agent" { // which a proxy may change
			s.lines = append(s.lines, line{header, strings.ToLower(header), strings.Join(values, ",")})
		}
	}
	slices.SortFunc(s.lines, func(a, b line) int { return strings.Compare(a.name, b.name) })
	return s
}

// sign adds a signature to a request with a body.
func (s *signer) sign(r *http.Request, body []byte, c *aws.Credentials, keys *keyCache, now time.Time) {
	date := now.UTC().Format(timeOfRequest)
	key := keys.of(c, s.scope, date[:dayLength])
	names := s.appendNames(make([]byte, 0, usualNames), c)
	request := s.appendRequest(make([]byte, 0, usualRequest), body, names, date, c)
	text := append(append(make([]byte, 0, usualText), algorithm+"\n"...), date...)
	text = append(append(append(text, '\n'), key.scope...), '\n')
	text = appendSum(text, request)

	signature := append(make([]byte, 0, usualRequest), algorithm+" Credential="...)
	signature = append(append(append(signature, c.AccessKeyID...), '/'), key.scope...)
	signature = append(append(signature, ", SignedHeaders="...), names...)
	signature = hex.AppendEncode(append(signature, ", Signature="...), key.authenticate(text))
	values := [...]string{date, string(signature), c.SessionToken}
	r.Header[dateHeader], r.Header[authorizationHeader] = values[0:1:1], values[1:2:2]
	if c.SessionToken != "" {
		r.Header[tokenHeader] = values[2:]
	}
}

// The lengths of the parts of a usual signature, to allocate little.
const (
	usualNames   = 128
	usualRequest = 1024
	usualText    = 192
)

// appendNames appends the names of the signed headers.
func (s *signer) appendNames(to []byte, c *aws.Credentials) []byte {
	for i := range s.lines {
		if s.lines[i].header == tokenHeader && c.SessionToken == "" {
			continue
		}
		if len(to) > 0 {
			to = append(to, ';')
		}
		to = append(to, s.lines[i].name...)
	}
	return to
}

// appendRequest appends the canonical form of a request, which has no query.
func (s *signer) appendRequest(to, body, names []byte, date string, c *aws.Credentials) []byte {
	to = append(append(append(to, http.MethodPost+"\n"...), s.path...), "\n\n"...)
	for i := range s.lines {
		l := &s.lines[i]
		if l.header == tokenHeader && c.SessionToken == "" {
			continue
		}
		to = append(append(to, l.name...), ':')
		switch l.header {
		case lengthHeader:
			to = strconv.AppendInt(to, int64(len(body)), 10)
		case dateHeader:
			to = append(to, date...)
		case tokenHeader:
			to = append(to, c.SessionToken...)
		default:
			to = append(to, l.value...)
		}
		to = append(to, '\n')
	}
	to = append(append(append(to, '\n'), names...), '\n')
	return appendSum(to, body)
}

// appendSum appends the SHA-256 of data in hexadecimal digits.
func appendSum(to, data []byte) []byte {
	sum := sha256.Sum256(data)
	return hex.AppendEncode(to, sum[:])
}

// keyCache has the last key that was derived. It is safe for concurrent use.
type keyCache struct{ last atomic.Pointer[signingKey] }

// signingKey is the key of one day, derived from a secret. It is safe for concurrent use.
type signingKey struct {
	secret string
	of     scope
	day    string
	// scope is the scope in the form of a signature.
	scope string
	// hashes are for the authentication codes of the key.
	hashes sync.Pool
}

// of returns the key for a day.
func (k *keyCache) of(c *aws.Credentials, s scope, day string) *signingKey {
	if last := k.last.Load(); last != nil && last.secret == c.SecretAccessKey && last.of == s && last.day == day {
		return last
	}
	parts := []string{day, s.region, s.service, scopeEnd}
	key := []byte("AWS4" + c.SecretAccessKey)
	for _, part := range parts {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	derived := &signingKey{secret: c.SecretAccessKey, of: s, day: strings.Clone(day), scope: strings.Join(parts, "/")}
	derived.hashes.New = func() any { return hmac.New(sha256.New, key) }
	k.last.Store(derived)
	return derived
}

// authenticate returns the authentication code of a text.
func (k *signingKey) authenticate(text []byte) []byte {
	h := k.hashes.Get().(hash.Hash) //nolint:forcetypeassert // the pool has nothing else
	defer k.hashes.Put(h)
	h.Reset()
	h.Write(text)
	return h.Sum(nil)
}
