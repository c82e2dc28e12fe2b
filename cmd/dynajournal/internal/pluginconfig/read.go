// Package pluginconfig reads the configuration of the JVM plug-ins, with their own keys, as a configuration of a journal.
package pluginconfig

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/cmd/dynajournal/internal/hocon"
)

// Settings are what a file sets; all else is zero.
type Settings struct {
	Config dynajournal.Config
	// Region is the journal's, which the plug-ins' later versions can set.
	Region string
}

// defaults stand for the plug-ins' own, which an application's file refers to.
const defaults = `
dynamodb-journal {
  endpoint = "", journal-table = null, journal-name = null, sequence-shards = null, aws-access-key-id = "", aws-secret-access-key = ""
  region = "", replay-parallelism = null, tracing = null, log-config = null, client-dispatcher = "", plugin-dispatcher = "", replay-dispatcher = ""
  aws-api-limits { max-batch-get = null, max-batch-write = null, max-item-size = null }
  aws-client-config {}
  dispatcher {}
  fixes {}
}
dynamodb-snapshot-store {
  endpoint = ${dynamodb-journal.endpoint}
  journal-name = ${dynamodb-journal.journal-name}
  aws-access-key-id = ${dynamodb-journal.aws-access-key-id}
  aws-secret-access-key = ${dynamodb-journal.aws-secret-access-key}
  aws-client-config = ${dynamodb-journal.aws-client-config}
  aws-api-limits = ${dynamodb-journal.aws-api-limits}
}
dynamodb-read-journal = ${dynamodb-journal}
`

// Tables that Akka's plug-in uses by default; the library has Pekko's.
const (
	akkaJournalTable  = "akka-persistence"
	akkaSnapshotTable = "akka-persistence-snapshot"
)

// Read reads a file. Keys that mean nothing here, such as dispatchers, are skipped.
func Read(path string) (Settings, error) {
	document, err := hocon.Load(path, defaults)
	if err != nil {
		return Settings{}, err
	}
	s, err := read(document)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func read(document *hocon.Document) (Settings, error) {
	var s Settings
	akka, journal, err := section(document, "journal.plugin", "dynamodb-journal")
	if err != nil {
		return s, err
	}
	_, snapshots, err := section(document, "snapshot-store.plugin", "dynamodb-snapshot-store")
	if err != nil {
		return s, err
	}
	c := &s.Config
	if akka {
		c.JournalTable, c.SnapshotTable = akkaJournalTable, akkaSnapshotTable
	}
	r := reader{document: document, section: journal}
	r.text("endpoint", &c.Endpoint)
	r.text("region", &s.Region)
	r.text("aws-access-key-id", &c.AccessKeyID)
	r.text("aws-secret-access-key", &c.SecretAccessKey)
	r.text("journal-table", &c.JournalTable)
	r.text("journal-name", &c.JournalName)
	r.number("sequence-shards", &c.SequenceShards)
	r.number("replay-parallelism", &c.ReplayParallelism)
	r.flag("tracing", &c.Tracing)
	r.flag("log-config", &c.LogConfig)
	r.number("aws-api-limits.max-batch-get", &c.MaxBatchGet)
	r.number("aws-api-limits.max-batch-write", &c.MaxBatchWrite)
	r.number("aws-api-limits.max-item-size", &c.MaxItemSize)
	r.duration("operation-timeout", &c.OperationTimeout)
	r.client(c)
	scheme := "https"
	r.text("aws-client-config.protocol", &scheme)

	r.section = "dynamodb-read-journal"
	r.text("persistence-ids-index-name", &c.IDsIndexName)

	r.section = snapshots
	r.text("snapshot-table", &c.SnapshotTable)
	r.same("endpoint", c.Endpoint)
	r.same("journal-name", c.JournalName)
	c.Endpoint = absolute(c.Endpoint, scheme)
	return s, r.err
}

// section is the name of the section that a plug-in's configuration is in, and whether it is Akka's.
func section(document *hocon.Document, key, usual string) (akka bool, name string, err error) {
	for _, root := range []string{"pekko", "akka"} {
		name, set, err := document.Text(root + ".persistence." + key)
		if err != nil {
			return false, "", err
		}
		if !set || name == "" {
			continue
		}
		if !document.Has(name) {
			return false, "", fmt.Errorf("%s.persistence.%s is %q, but there is no section of that name", root, key, name)
		}
		return root == "akka", name, nil
	}
	class, _, err := document.Text(usual + ".class")
	return strings.HasPrefix(class, "akka."), usual, err
}

// absolute gives an endpoint a scheme, which the JVM's SDK can do without.
func absolute(endpoint, scheme string) string {
	if endpoint == "" || strings.Contains(endpoint, "://") {
		return endpoint
	}
	return strings.ToLower(scheme) + "://" + endpoint
}

// reader reads the keys of a section, and keeps the first error.
type reader struct {
	document *hocon.Document
	section  string
	err      error
}

// unset is what a key of aws-client-config says that is not set.
const unset = "default"

// get says whether a key is set, and to what.
func (r *reader) get(key string) (string, bool) {
	if r.err != nil {
		return "", false
	}
	text, set, err := r.document.Text(r.section + "." + key)
	r.err = err
	return text, set && text != "" && text != unset
}

func (r *reader) fail(key, text, want string) {
	r.err = fmt.Errorf("%s.%s is %q, not %s", r.section, key, text, want)
}

func (r *reader) text(key string, to *string) {
	if text, set := r.get(key); set {
		*to = text
	}
}

func (r *reader) number(key string, to *int) {
	text, set := r.get(key)
	if !set {
		return
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		r.fail(key, text, "a whole number")
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
		*to = false
	default:
		r.fail(key, text, "on or off")
	}
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
	if err != nil || !known || length < 0 || length > float64(1<<62) {
		r.fail(key, text, "a length of time")
		return
	}
	*to = time.Duration(length)
}

// client reads the settings of the HTTP client that have a meaning here.
func (r *reader) client(c *dynajournal.Config) {
	const prefix = "aws-client-config."
	r.number(prefix+"max-connections", &c.MaxConnections)
	r.number(prefix+"max-error-retry", &c.Retries)
	if text, set := r.get(prefix + "max-error-retry"); set && text == "0" {
		c.Retries = -1
	}
	r.duration(prefix+"client-execution-timeout", &c.OperationTimeout)
	r.duration(prefix+"request-timeout", &c.AttemptTimeout)
	r.duration(prefix+"connection-timeout", &c.HTTP.ConnectTimeout)
	r.duration(prefix+"connection-max-idle-millis", &c.HTTP.IdleTimeout)
	r.duration(prefix+"socket-timeout", &c.HTTP.ResponseTimeout)
	r.text(prefix+"local-address", &c.HTTP.LocalAddress)
	r.text(prefix+"user-agent", &c.UserAgent)
	keepAlive := true
	if r.flag(prefix+"use-tcp-keepalive", &keepAlive); !keepAlive {
		c.HTTP.KeepAlive = -1
	}
	r.buffers(prefix+"socket-buffer-size-hints", c)
	r.proxy(prefix, c)
}

// buffers reads the sizes of the send and the receive buffer.
func (r *reader) buffers(key string, c *dynajournal.Config) {
	if r.err != nil {
		return
	}
	if text, set, err := r.document.Text(r.section + "." + key); err == nil && (!set || text == unset) {
		return
	}
	sizes, set, err := r.document.List(r.section + "." + key)
	if r.err = err; err != nil || !set {
		return
	}
	if len(sizes) == 2 {
		write, writeErr := strconv.Atoi(sizes[0])
		read, readErr := strconv.Atoi(sizes[1])
		if err = errors.Join(writeErr, readErr); err == nil {
			c.HTTP.WriteBuffer, c.HTTP.ReadBuffer = write, read
			return
		}
	}
	r.fail(key, strings.Join(sizes, ", "), "two sizes in bytes")
}

func (r *reader) proxy(prefix string, c *dynajournal.Config) {
	host, set := r.get(prefix + "proxy-host")
	if !set {
		return
	}
	var port, user, password string
	r.text(prefix+"proxy-port", &port)
	r.text(prefix+"proxy-username", &user)
	r.text(prefix+"proxy-password", &password)
	proxy := url.URL{Scheme: "http", Host: host}
	if port != "" {
		proxy.Host = net.JoinHostPort(host, port)
	}
	if user != "" {
		proxy.User = url.UserPassword(user, password)
	}
	c.HTTP.Proxy = proxy.String()
}

// same checks that the snapshot store is where the journal is, as one configuration here is for both.
func (r *reader) same(key, journal string) {
	if text, set := r.get(key); set && text != journal {
		r.err = fmt.Errorf("%s.%s is %q, but the journal's is %q: both must be the same", r.section, key, text, journal)
	}
}
