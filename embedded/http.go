package embedded

import (
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"unicode/utf8"
)

const (
	targetPrefix  = "DynamoDB_20120810."
	streamsPrefix = "DynamoDBStreams_20120810."
	contentType   = "application/x-amz-json-1.0"
	plainContent  = "application/json"
	// maxBody is the size limit of a request's body, compressed and decompressed.
	maxBody = 16 << 20
)

// ServeHTTP responds to a request of DynamoDB's JSON 1.0 protocol. The request must have a
// signature, as requests of SDKs do, but any signature is accepted: the engine has no
// authentication.
func (e *Engine) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	response, err := e.respond(request, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer response.release()
	e.send(w, response)
}

// send sends the response.
func (e *Engine) send(w http.ResponseWriter, response *response) {
	if response.damage == damageReset || response.damage == damageTruncated {
		response.sendDamaged(w, e.now())
		return
	}
	response.setHeader(w.Header(), e.now())
	w.WriteHeader(response.status)
	// The client may be gone.
	_, _ = w.Write(response.body)
}

// respond performs a request. It fails only if the engine is closed, its storage has failed, or
// serving ends.
func (e *Engine) respond(request *http.Request, in *incoming) (*response, error) {
	if request.Method == http.MethodGet && request.URL.Path == "/" {
		if err := e.enter(); err != nil {
			return nil, err
		}
		e.leave()
		return fixedResponse(http.StatusOK, "text/plain", "healthy: dynamodb.us-east-1.amazonaws.com \n"), nil
	}
	if request.Method != http.MethodPost {
		return fixedResponse(http.StatusNotFound, "", "<UnknownOperationException/>\n"), nil
	}
	buffer := in.takeBuffer()
	defer in.giveBuffer(buffer)
	// The body is read before enter is called, so a slow client does not delay Close.
	body, err := readBody((*buffer)[:0], request, in)
	*buffer = body
	if err != nil {
		response := unreadResponse(err)
		response.summary.received, response.summary.partly = len(body), true
		return response, nil
	}
	return e.handle(request, body, in)
}

// handle performs a request that has arrived. It fails for the same reasons as respond.
func (e *Engine) handle(request *http.Request, body []byte, in *incoming) (*response, error) {
	if err := in.arrived(); err != nil {
		return nil, err
	}
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	kind := contentKind(request.Header.Get("Content-Type"))
	if kind != contentType && kind != plainContent && len(body) > 0 {
		return fixedResponse(http.StatusNotFound, "", "<UnknownOperationException/>\n"), nil
	}
	response := e.dispatch(request, body, in)
	// Data that was read while the storage failed may not be stored.
	if err := e.Err(); err != nil {
		response.release()
		return nil, err
	}
	response.summary.received = len(body)
	if kind != contentType {
		response.contentType = plainContent
	}
	response.compress(request.Header.Get("Accept-Encoding"))
	return response, nil
}

// operationOf returns the operation that a target names. Operations of streams have a prefix of
// their own.
func operationOf(target string) (name string, found operation, known bool) {
	name, prefixed := strings.CutPrefix(target, targetPrefix)
	if !prefixed {
		if name, prefixed = strings.CutPrefix(target, streamsPrefix); !prefixed {
			return "", operation{}, false
		}
		found, known = operations[name]
		return name, found, known && found.ofStreams
	}
	found, known = operations[name]
	return name, found, known && !found.ofStreams
}

func (e *Engine) dispatch(request *http.Request, body []byte, in *incoming) *response {
	name, operation, known := operationOf(request.Header.Get("X-Amz-Target"))
	if !known || e.options.lacks(name) {
		if len(body) > 0 && (!utf8.Valid(body) || !json.Valid(body)) {
			return errorResponse(serviceError("SerializationException", ""))
		}
		return errorResponse(serviceError("UnknownOperationException", ""))
	}
	if !signed(request) {
		return errorResponse(serviceError("MissingAuthenticationTokenException", "Request is missing Authentication Token"))
	}
	e.count.request(name)
	if len(body) == 0 || !utf8.Valid(body) { // invalid UTF-8 would become replacement characters
		return errorResponse(serviceError("SerializationException", ""))
	}
	response := newResponse(http.StatusOK)
	c := &call{
		ctx: request.Context(), op: operation, in: in, host: request.Host, signedAt: request.Header.Get("X-Amz-Date"),
		body: body, out: response.body,
	}
	response.summary.operation = name
	err := recoverPanic(name, func() error {
		if in != nil && in.logTables {
			response.summary.tables = e.tablesOf(name, c)
		}
		return e.perform(name, c)
	})
	response.body = c.out
	if c.reads {
		_ = e.store.WaitSynced() // respond returns its error
	}
	if err != nil {
		api := asAPIError(err)
		if api.status >= http.StatusInternalServerError && !errors.As(err, new(*apiError)) && e.Err() == nil {
			slog.Error("embedded DynamoDB: a request failed with an internal error", "operation", name, "error", err)
		}
		response.status = api.status
		response.summary.code = api.name()
		response.body = appendError(response.body[:0], api)
	}
	c.damageResponse(response)
	_, response.omitErrorChecksum = c.form(EffectNoErrorChecksum)
	clock, _ := c.form(EffectWrongClock)
	response.ahead = clock.Delay
	return response
}

// recoverPanic turns a panic into an error, so that only the request fails. The stack is logged at
// debug level.
func recoverPanic(operation string, run func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			slog.Debug("embedded DynamoDB: a request panicked", "operation", operation, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: panic: %v", operation, cause)
		}
	}()
	return run()
}

// contentKind returns the media type of a Content-Type header without its parameters.
func contentKind(header string) string {
	kind, _, _ := strings.Cut(header, ";")
	return strings.TrimSpace(kind)
}

func signed(request *http.Request) bool {
	if strings.HasPrefix(request.Header.Get("Authorization"), "AWS4-") {
		return true
	}
	return strings.Contains(request.URL.RawQuery, "X-Amz-Algorithm=")
}

// readBody appends the decompressed body to dst.
func readBody(dst []byte, request *http.Request, in *incoming) ([]byte, error) {
	if request.Body == nil {
		return dst, nil
	}
	if request.ContentLength > maxBody {
		return dst, errTooLarge
	}
	body := in.source(request.Body)
	encoding := strings.ToLower(strings.TrimSpace(request.Header.Get("Content-Encoding")))
	if encoding == "" || encoding == "identity" {
		return readAll(request.Context(), dst, body, request.ContentLength, in)
	}
	if err := in.unpacks(request.Context()); err != nil {
		return dst, err
	}
	unpacked, err := unpackedBody(io.LimitReader(body, maxBody), encoding)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", errEncoding, err)
	}
	if dst, err = readAll(request.Context(), dst, unpacked, -1, in); err != nil {
		return dst, fmt.Errorf("%w: %w", errEncoding, err)
	}
	return dst, nil
}

// unpackedBody returns a reader of the decompressed body.
func unpackedBody(packed io.Reader, encoding string) (io.Reader, error) {
	switch encoding {
	case gzipEncoding:
		return gzip.NewReader(packed)
	case deflateEncoding:
		return zlib.NewReader(packed)
	}
	return nil, fmt.Errorf("the encoding %.100q is unknown", encoding)
}

// readAll appends the content of the source. size is its announced length, or -1 if it is unknown.
func readAll(ctx context.Context, dst []byte, source io.Reader, size int64, in *incoming) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			grown, err := in.grow(ctx, dst, size)
			if err != nil {
				return dst, err
			}
			dst = grown
		}
		n, err := source.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst) > maxBody:
			return dst, errTooLarge
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return dst, fmt.Errorf("reading the body: %w", err)
		}
	}
}
