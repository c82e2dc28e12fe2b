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

// Constants of AWS Signature Version 4, in its canonical request and in its headers. See
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

// scope is the region and the service that a key signs for.
type scope struct{ region, service string }

// signer signs the requests of one template. The SDK's signer sorts and cleans the headers and
// escapes the path of every request; this signer does so once. It is used only if its signature of
// a sample equals the SDK's: see [Sender.signerOf].
type signer struct {
	scope

	// path is the path of the requests.
	path string
	// plain is for credentials without a token, withToken for credentials of a role.
	plain, withToken signedHeaders
}

// signedHeaders are the headers that a signature covers, in the order of their names.
type signedHeaders struct {
	lines []line
	// names is the list of header names, as a signature has it.
	names string
}

// line is a signed header. value is empty for headers whose value differs between requests.
type line struct{ header, name, value string }

// newSigner returns a signer for requests with a template's headers.
func newSigner(t *template) *signer {
	lines := []line{
		{"Host", "host", cmp.Or(t.host, t.url.Host)}, {lengthHeader, "content-length", ""}, {dateHeader, "x-amz-date", ""},
	}
	for header, values := range t.header {
		if header != "User-Agent" { // which a proxy may change
			lines = append(lines, line{header, strings.ToLower(header), strings.Join(values, ",")})
		}
	}
	return &signer{
		scope: t.scope, path: cmp.Or(t.url.EscapedPath(), "/"), plain: sorted(lines),
		withToken: sorted(append(lines, line{tokenHeader, "x-amz-security-token", ""})),
	}
}

// sorted returns lines as signed headers, in the order of their names.
func sorted(lines []line) signedHeaders {
	h := signedHeaders{lines: slices.Clone(lines)}
	slices.SortFunc(h.lines, func(a, b line) int { return strings.Compare(a.name, b.name) })
	names := make([]string, len(h.lines))
	for i, l := range h.lines {
		names[i] = l.name
	}
	h.names = strings.Join(names, ";")
	return h
}

// scratch is memory for the parts of a signature. It is not on the stack, which would have to grow
// in every goroutine of a recovery, although each sends only one request.
type scratch struct{ request, text, header []byte }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// sign adds a signature to a request with a body.
func (s *signer) sign(r *http.Request, body []byte, c *aws.Credentials, keys *keyCache, now time.Time) {
	b := scratches.Get().(*scratch) //nolint:forcetypeassert // the pool has nothing else
	defer scratches.Put(b)
	date := now.UTC().Format(timeOfRequest)
	key := keys.of(c, s.scope, date[:dayLength])
	signed := &s.plain
	if c.SessionToken != "" {
		signed = &s.withToken
	}
	// The empty line is the query string, which is always empty.
	b.request = append(append(append(b.request[:0], http.MethodPost+"\n"...), s.path...), "\n\n"...)
	b.request = signed.append(b.request, len(body), date, c.SessionToken)
	b.request = append(append(append(b.request, '\n'), signed.names...), '\n')
	b.request = appendSum(b.request, body)
	b.text = append(append(b.text[:0], algorithm+"\n"...), date...)
	b.text = append(append(append(b.text, '\n'), key.scope...), '\n')
	b.text = appendSum(b.text, b.request)

	b.header = append(b.header[:0], algorithm+" Credential="...)
	b.header = append(append(append(b.header, c.AccessKeyID...), '/'), key.scope...)
	b.header = append(append(b.header, ", SignedHeaders="...), signed.names...)
	b.header = hex.AppendEncode(append(b.header, ", Signature="...), key.authenticate(b.text))
	values := [...]string{date, string(b.header), c.SessionToken}
	r.Header[dateHeader], r.Header[authorizationHeader] = values[0:1:1], values[1:2:2]
	if c.SessionToken != "" {
		r.Header[tokenHeader] = values[2:]
	}
}

// append appends the headers of a request in their canonical form.
func (h *signedHeaders) append(to []byte, length int, date, token string) []byte {
	for i := range h.lines {
		l := &h.lines[i]
		to = append(append(to, l.name...), ':')
		switch l.header {
		case lengthHeader:
			to = strconv.AppendInt(to, int64(length), 10)
		case dateHeader:
			to = append(to, date...)
		case tokenHeader:
			to = append(to, token...)
		default:
			to = append(to, l.value...)
		}
		to = append(to, '\n')
	}
	return to
}

// appendSum appends the SHA-256 of data in hexadecimal digits.
func appendSum(to, data []byte) []byte {
	sum := sha256.Sum256(data)
	return hex.AppendEncode(to, sum[:])
}

// keyCache caches the last derived key. It is safe for concurrent use.
type keyCache struct{ last atomic.Pointer[signingKey] }

// signingKey is the key of one day, derived from a secret. It is safe for concurrent use.
type signingKey struct {
	secret string
	of     scope
	day    string
	// scope is the credential scope, as a signature has it.
	scope string
	// hashes is a pool of HMACs with the key.
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
