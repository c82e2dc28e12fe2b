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
	tokenHeader         = "X-Amz-Security-Token" //nolint:gosec // it is a name
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

// scratch is memory for the parts of a signature. It is not on the stack, which would have to grow
// in the goroutines of a recovery, each of which sends one request.
type scratch struct{ names, request, text, header []byte }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// sign adds a signature to a request with a body.
func (s *signer) sign(r *http.Request, body []byte, c *aws.Credentials, keys *keyCache, now time.Time) {
	b := scratches.Get().(*scratch) //nolint:forcetypeassert // the pool has nothing else
	defer scratches.Put(b)
	date := now.UTC().Format(timeOfRequest)
	key := keys.of(c, s.scope, date[:dayLength])
	b.names = s.appendNames(b.names[:0], c)
	b.request = s.appendRequest(b.request[:0], body, b.names, date, c)
	b.text = append(append(b.text[:0], algorithm+"\n"...), date...)
	b.text = append(append(append(b.text, '\n'), key.scope...), '\n')
	b.text = appendSum(b.text, b.request)

	b.header = append(b.header[:0], algorithm+" Credential="...)
	b.header = append(append(append(b.header, c.AccessKeyID...), '/'), key.scope...)
	b.header = append(append(b.header, ", SignedHeaders="...), b.names...)
	b.header = hex.AppendEncode(append(b.header, ", Signature="...), key.authenticate(b.text))
	values := [...]string{date, string(b.header), c.SessionToken}
	r.Header[dateHeader], r.Header[authorizationHeader] = values[0:1:1], values[1:2:2]
	if c.SessionToken != "" {
		r.Header[tokenHeader] = values[2:]
	}
}

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
