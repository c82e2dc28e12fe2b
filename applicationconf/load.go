// Package applicationconf reads a configuration of the JVM plug-ins, with their own keys, as a
// configuration of a journal.
package applicationconf

import (
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/applicationconf/internal/hocon"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Settings are the settings of a file. All others are zero.
type Settings struct {
	Config dynajournal.Config
	// Region is the journal's region, which later versions of the plug-ins can set.
	Region string
}

// Load reads a file. Every key of the plug-ins' sections is known or refused. Keys without a
// meaning here, such as dispatchers, are skipped. Errors name the file and the line.
func Load(path string) (Settings, error) {
	s, akkas, err := readAs(path, pekko)
	if err == nil && akkas {
		s, _, err = readAs(path, akka) // again, with the defaults that it can refer to
	}
	return s, err
}

// readAs reads a file with the defaults of a product, and reports whether it is for Akka.
func readAs(path string, p product) (Settings, bool, error) {
	document, err := hocon.Load(path, p.defaults())
	if err != nil {
		return Settings{}, false, err
	}
	f := &file{document, path}
	found, err := f.find()
	if err != nil {
		return Settings{}, false, err
	}
	akkas := found.product == akka
	if akkas != (p == akka) {
		return Settings{}, akkas, nil
	}
	s, err := f.read(found)
	return s, akkas, err
}

func (f *file) read(from sections) (Settings, error) {
	var s Settings
	if err := f.check(from); err != nil {
		return s, err
	}
	c := &s.Config
	if from.product == akka {
		c.JournalTable, c.SnapshotTable = akka.tables, akka.tables+"-snapshot"
	}
	r := reader{file: f, section: from.journal}
	r.text("endpoint", &c.Endpoint)
	r.text("region", &s.Region)
	r.credentials(c)
	r.text("journal-table", &c.JournalTable)
	r.journalName(&c.JournalName)
	r.number("sequence-shards", 1, layout.MaxShards, &c.SequenceShards)
	r.number("replay-parallelism", 1, dynajournal.MaxMaxConnections, &c.ReplayParallelism)
	r.flag("tracing", &c.Tracing)
	r.flag("log-config", &c.LogConfig)
	r.number(apiLimits+".max-batch-get", 1, dynajournal.DefaultMaxBatchGet, &c.MaxBatchGet)
	r.number(apiLimits+".max-batch-write", 1, dynajournal.DefaultMaxBatchWrite, &c.MaxBatchWrite)
	r.number(apiLimits+".max-item-size", 1, dynajournal.DefaultMaxItemSize, &c.MaxItemSize)
	r.duration("operation-timeout", &c.OperationTimeout)
	r.client(c)
	scheme := r.scheme()
	if from.read {
		r.section = usualRead
		r.text("persistence-ids-index-name", &c.IDsIndexName)
		r.same(from.journal, append(shared(), "journal-table")...)
	}
	if from.store {
		r.section = from.snapshots
		r.text("snapshot-table", &c.SnapshotTable)
		r.flag("tracing", &c.Tracing)
		r.same(from.journal, shared()...)
	}
	r.section = from.journal
	r.absolute(scheme, &c.Endpoint)
	return s, r.err
}

// shared returns the settings that the journal, the snapshot store and the read journal have in
// common here, because one client serves all of them.
func shared() []string {
	return slices.Sorted(maps.Keys(sharedKeys().without("tracing").without("client-dispatcher")))
}

// check checks the keys of all sections, including those that others only refer to.
func (f *file) check(from sections) error {
	p := from.product
	for _, section := range []struct {
		name  string
		known keys
		used  bool
	}{
		{from.journal, p.journalKeys(), true}, {usualJournal, p.journalKeys(), false},
		{from.snapshots, p.snapshotKeys(), from.store}, {usualSnapshots, p.snapshotKeys(), false},
		{usualRead, p.readKeys(), from.read},
	} {
		if !f.Has(section.name) {
			if err := f.notAnObject(section.name); err != nil {
				return err
			}
			continue
		}
		if section.used {
			if err := f.checkClass(section.name + ".class"); err != nil {
				return err
			}
		}
		if err := f.checkKeys(section.name, section.known); err != nil {
			return err
		}
	}
	return nil
}

// checkClass checks that a section is one of the DynamoDB plug-in.
func (f *file) checkClass(key string) error {
	class, set, err := f.Text(key)
	switch {
	case err != nil:
		return f.wrong(key, "%w", err)
	case set && !strings.Contains(strings.ToLower(class), "dynamodb"):
		return f.wrong(key, "%s is %q, which is not the DynamoDB plug-in's", key, class)
	}
	return nil
}

// reader reads the keys of a section, and keeps the first error.
type reader struct {
	*file
	section string
	err     error
}

// get returns the value of a key, and reports whether the file sets it.
func (r *reader) get(key string) (string, bool) {
	if r.err != nil {
		return "", false
	}
	path := r.section + "." + key
	text, set, err := r.Text(path)
	if err != nil {
		r.err = r.wrong(path, "%w", err)
	}
	unset := !set || text == "" || text == bySDK && strings.HasPrefix(key, clientConfig) || r.At(path).IsZero()
	return text, !unset
}

func (r *reader) fail(key, text, want string) {
	path := r.section + "." + key
	r.err = r.wrong(path, "%s is %q, not %s", path, text, want)
}

func (r *reader) text(key string, to *string) {
	if text, set := r.get(key); set {
		*to = text
	}
}

// number reads a whole number between bounds.
func (r *reader) number(key string, least, most int, to *int) {
	text, set := r.get(key)
	if !set {
		return
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		r.fail(key, text, fmt.Sprintf("a whole number from %d to %d", least, most))
		return
	}
	*to = n
}

func (r *reader) flag(key string, to *bool) {
	text, set := r.get(key)
	if !set {
		return
	}
	switch text {
	case "on", "true", "yes":
		*to = true
	case "off", "false", "no":
	default:
		r.fail(key, text, "on or off")
	}
}

// credentials reads both parts of the access key. One part alone would be ignored silently.
func (r *reader) credentials(c *dynajournal.Config) {
	const id, secret = "aws-access-key-id", "aws-secret-access-key" //nolint:gosec // names of keys
	r.text(id, &c.AccessKeyID)
	r.text(secret, &c.SecretAccessKey)
	if r.err != nil || (c.AccessKeyID == "") == (c.SecretAccessKey == "") {
		return
	}
	set, unset := id, secret
	if c.AccessKeyID == "" {
		set, unset = secret, id
	}
	path := r.section + "." + set
	r.err = r.wrong(path, "%s is set, but %s.%s is not: set both or none", path, r.section, unset)
}

func (r *reader) journalName(to *string) {
	const key = "journal-name"
	r.text(key, to)
	if r.err != nil || *to == "" {
		return
	}
	if err := layout.CheckJournalName(*to); err != nil {
		path := r.section + "." + key
		r.err = r.wrong(path, "%s is %q: %w", path, *to, err)
	}
}

// scheme returns the scheme of an endpoint without one.
func (r *reader) scheme() string {
	const key = clientConfig + ".protocol"
	text, set := r.get(key)
	scheme := strings.ToLower(text)
	if !set {
		return "https"
	}
	if scheme != "http" && scheme != "https" {
		r.fail(key, text, "HTTP or HTTPS")
	}
	return scheme
}

// absolute adds a scheme to an endpoint, which the JVM's SDK does not need.
func (r *reader) absolute(scheme string, endpoint *string) {
	if r.err != nil || *endpoint == "" {
		return
	}
	whole := *endpoint
	if !strings.Contains(whole, "://") {
		whole = scheme + "://" + whole
	}
	if u, err := url.Parse(whole); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		r.fail("endpoint", *endpoint, "a URL with http or https and a host")
		return
	}
	*endpoint = whole
}

var units = map[string]time.Duration{
	"": time.Millisecond,

	"ns": time.Nanosecond, "nano": time.Nanosecond, "nanos": time.Nanosecond, "nanosecond": time.Nanosecond, "nanoseconds": time.Nanosecond,
	"us": time.Microsecond, "micro": time.Microsecond, "micros": time.Microsecond, "microsecond": time.Microsecond, "microseconds": time.Microsecond,
	"ms": time.Millisecond, "milli": time.Millisecond, "millis": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
}

// longest is the longest duration that a configuration can have.
const longest = 10 * 365 * 24 * time.Hour

// duration reads a number of milliseconds, or one with a unit. 0 leaves the default.
func (r *reader) duration(key string, to *time.Duration) {
	text, set := r.get(key)
	if !set {
		return
	}
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
	unit, known := units[strings.TrimSpace(text[len(digits):])]
	n, err := strconv.ParseFloat(digits, 64)
	length := n * float64(unit)
	if err != nil || !known || !(length >= 0 && length <= float64(longest)) {
		r.fail(key, text, "a length of time from 0 to ten years")
		return
	}
	*to = time.Duration(length)
}

// client reads the settings of the HTTP client that have a meaning here.
func (r *reader) client(c *dynajournal.Config) {
	const prefix = clientConfig + "."
	r.number(prefix+"max-connections", 1, dynajournal.MaxMaxConnections, &c.MaxConnections)
	r.number(prefix+"max-error-retry", 0, math.MaxInt32, &c.Retries)
	if text, set := r.get(prefix + "max-error-retry"); set && text == "0" {
		c.Retries = -1
	}
	r.duration(prefix+"client-execution-timeout", &c.OperationTimeout)
	r.duration(prefix+"request-timeout", &c.AttemptTimeout)
	r.duration(prefix+"connection-timeout", &c.HTTP.ConnectTimeout)
	r.duration(prefix+"connection-max-idle-millis", &c.HTTP.IdleTimeout)
	r.duration(prefix+"socket-timeout", &c.HTTP.ResponseTimeout)
	r.text(prefix+"local-address", &c.HTTP.LocalAddress)
	if local := c.HTTP.LocalAddress; r.err == nil && local != "" && net.ParseIP(local) == nil {
		r.fail(prefix+"local-address", local, "an IP address")
	}
	r.text(prefix+"user-agent", &c.UserAgent)
	const keepAlive = prefix + "use-tcp-keepalive"
	on := false
	if r.flag(keepAlive, &on); !on {
		if _, set := r.get(keepAlive); set {
			c.HTTP.KeepAlive = -1
		}
	}
	r.buffers(prefix+"socket-buffer-size-hints", c)
	r.proxy(prefix, c)
}

// largestBuffer limits the buffers of a connection, in bytes.
const largestBuffer = 64 << 20

// buffers reads the sizes of the send and the receive buffer.
func (r *reader) buffers(key string, c *dynajournal.Config) {
	path := r.section + "." + key
	if r.err != nil || r.At(path).IsZero() {
		return
	}
	if text, set, err := r.Text(path); err == nil && (!set || text == bySDK) {
		return
	}
	sizes, set, err := r.List(path)
	if err != nil {
		r.err = r.wrong(path, "%w", err)
	}
	if err != nil || !set {
		return
	}
	numbers := make([]int, len(sizes))
	for i, size := range sizes {
		if numbers[i], err = strconv.Atoi(size); err != nil || numbers[i] < 0 || numbers[i] > largestBuffer {
			numbers = nil
			break
		}
	}
	if len(numbers) != 2 {
		r.fail(key, strings.Join(sizes, ", "), fmt.Sprintf("two sizes from 0 to %d bytes", largestBuffer))
		return
	}
	c.HTTP.WriteBuffer, c.HTTP.ReadBuffer = numbers[0], numbers[1]
}

func (r *reader) proxy(prefix string, c *dynajournal.Config) {
	host, set := r.get(prefix + "proxy-host")
	if !set {
		return
	}
	var port int
	var user, password string
	r.number(prefix+"proxy-port", 1, math.MaxUint16, &port)
	r.text(prefix+"proxy-username", &user)
	r.text(prefix+"proxy-password", &password)
	proxy := url.URL{Scheme: "http", Host: host}
	if port != 0 {
		proxy.Host = net.JoinHostPort(host, strconv.Itoa(port))
	}
	if user != "" {
		proxy.User = url.UserPassword(user, password)
	}
	if parsed, err := url.Parse(proxy.String()); r.err == nil &&
		(err != nil || parsed.Hostname() != strings.Trim(host, "[]")) {
		r.fail(prefix+"proxy-host", host, "the name of a host")
		return
	}
	c.HTTP.Proxy = proxy.String()
}

// same checks that keys are set as in the journal's section. Its error does not contain values that
// can be secret.
func (r *reader) same(journal string, names ...string) {
	for _, key := range names {
		here, there := r.section+"."+key, journal+"."+key
		if r.err != nil || r.setting(here) == r.setting(there) || r.err != nil {
			continue
		}
		at := r.At(here)
		if at.IsZero() {
			at = r.At(there)
		}
		r.err = r.wrongAt(at, "%s and %s are different: both must be the same, as one client serves both", here, there)
	}
}

// setting returns the value at a path in a form that can be compared.
func (r *reader) setting(path string) string {
	if items, set, err := r.List(path); err == nil && set {
		return fmt.Sprintf("%q", items)
	}
	text, set, err := r.Text(path)
	if err != nil && r.err == nil {
		r.err = r.wrong(path, "%w", err)
	}
	if !set {
		return ""
	}
	return text
}
