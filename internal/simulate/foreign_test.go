package simulate_test

import (
	"fmt"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"

	"github.com/dynajournal/dynajournal/internal/explore"
)

// foreign is a response that is not from DynamoDB, but from a gateway or proxy. applied reports
// whether the request has reached DynamoDB.
type foreign struct {
	status int
	// media is the media type, or "" for a response without a body.
	media string
	body  func(operation string) string
	// sum reports whether the response has the checksum of its body.
	sum     bool
	applied bool
}

const (
	mediaHTML = "text/html"
	mediaJSON = "application/json"
	// mediaAMZ is the media type of DynamoDB's own responses.
	mediaAMZ = "application/x-amz-json-1.0"
)

// foreigners has all foreign responses.
var foreigners = everyForeign()

func everyForeign() (all []foreign) {
	nothing := func(string) string { return "" }
	page := func(string) string { return "<html><body><h1>Not today</h1></body></html>" }
	message := func(string) string { return `{"message":"no route for this request","code":"gateway_17"}` }
	object := func(string) string { return "{}" }
	for _, f := range []foreign{
		{status: http.StatusRequestTimeout, body: nothing},
		{status: http.StatusNotFound, body: nothing},
		{status: http.StatusRequestEntityTooLarge, body: nothing},
		{status: 499, body: nothing},
		{status: http.StatusBadRequest, media: mediaHTML, body: page},
		{status: http.StatusForbidden, media: mediaHTML, body: page},
		{status: http.StatusBadRequest, media: mediaJSON, body: message},
		{status: http.StatusForbidden, media: mediaJSON, body: message},
		{status: http.StatusBadGateway, media: mediaHTML, body: page},
		{status: http.StatusServiceUnavailable, media: mediaHTML, body: page},
		{status: http.StatusOK, media: mediaAMZ, body: nothing},
		{status: http.StatusOK, media: mediaAMZ, body: object},
		{status: http.StatusOK, media: mediaAMZ, body: withoutCapacity, sum: true},
	} {
		all = append(all, f)
		f.applied = true
		all = append(all, f)
	}
	return all
}

// withoutCapacity returns the body of an operation on an empty table, without the consumed
// capacity.
func withoutCapacity(operation string) string {
	if operation == "Query" || operation == "Scan" {
		return `{"Count":0,"Items":[],"ScannedCount":0}`
	}
	return "{}"
}

func (f foreign) String() string {
	var b strings.Builder
	fmt.Fprint(&b, "answer ", f.status)
	switch {
	case f.sum:
		b.WriteString(" without capacity")
	case f.body("") == "":
		b.WriteString(" without body")
	case f.media == mediaAMZ:
		b.WriteString(" without checksum")
	default:
		b.WriteString(" as " + f.media)
	}
	if f.applied {
		b.WriteString(",applied")
	}
	return b.String()
}

// misanswer responds to a request with a foreign response.
func (g *simulation) misanswer(r *explore.Request, f foreign) {
	g.trace(f, r)
	g.sum.injected[f.String()]++
	if f.applied {
		_, _, _ = g.net.Perform(r)
	}
	body := f.body(r.Operation)
	header := http.Header{}
	if f.media != "" {
		header.Set("Content-Type", f.media)
	}
	if f.sum {
		header.Set("X-Amz-Crc32", sum(body))
	}
	g.net.Reply(r, f.status, header, []byte(body))
	if f.applied {
		g.learn(r)
	}
}

func sum(body string) string {
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10)
}

// refuseOld rejects a request that was signed too long ago, like the service, and reports whether
// it has.
func (g *simulation) refuseOld(r *explore.Request) bool {
	age := g.now().Sub(r.Sent)
	if age < signatureLife {
		return false
	}
	g.trace("signature expired", r)
	g.sum.injected["signature expired"]++
	body := fmt.Sprintf(`{"__type":"com.amazon.coral.service#InvalidSignatureException","message":"Signature expired: it is %v old"}`, age)
	header := http.Header{}
	header.Set("Content-Type", mediaAMZ)
	header.Set("X-Amz-Crc32", sum(body))
	header.Set("Date", g.now().UTC().Format(http.TimeFormat))
	g.net.Reply(r, http.StatusBadRequest, header, []byte(body))
	return true
}
