package applicationconf

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/applicationconf/internal/hocon"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// reader reads the keys of a section. After its first error it reads nothing more.
type reader struct {
	*file
	section string
	// origins maps pointers to fields to the positions at which they are set.
	origins map[any]Origin
	notes   []string
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
		r.note(to, key)
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
	r.note(to, key)
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
	r.note(to, key)
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

// scheme returns the scheme for an endpoint without one.
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

// absolute adds a scheme to an endpoint without one, which the JVM's SDK accepts.
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

// duration reads a number of milliseconds, or a number with a unit. 0 leaves the default.
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
	r.note(to, key)
}

// add adds a note about a section.
func (r *reader) add(section, format string, args ...any) {
	r.notes = append(r.notes, r.wrong(section, format, args...).Error())
}

// same checks that the keys that the section sets have the same values as in the journal's section.
// In Go, a key that the section leaves out has the journal's value. In the JVM, it has the value in
// dynamodb-journal, because the plug-ins' reference.conf refers to that section; if the two differ,
// same adds a note. Neither the error nor the note contains values, which can be secret.
func (r *reader) same(journal string, names ...string) {
	var differ []string
	for _, key := range names {
		here, there := r.section+"."+key, journal+"."+key
		if r.err != nil {
			return
		}
		value := r.setting(here)
		if value == r.setting(there) || r.err != nil {
			continue
		}
		at := r.At(here)
		if at.IsZero() || value == "" || value == bySDK {
			differ = append(differ, key)
			continue
		}
		r.err = r.wrongAt(at, here, "%s and %s are different: both must be the same, as one client serves both", here, there)
	}
	if r.err == nil && len(differ) > 0 {
		r.add(r.section, "%s does not set %s: Go uses the values of %s, a JVM those of %s; to make the JVM use the same, write %s.%s = ${%s.%s}%s",
			r.section, strings.Join(differ, ", "), journal, usualJournal, r.section, differ[0], journal, differ[0],
			map[bool]string{true: ", and so on"}[len(differ) > 1])
	}
}

// sameSnapshots checks that a snapshot store for which the file sets any key has the journal's
// name, even if the file leaves out the name: otherwise a JVM stores snapshots under the other
// name, where Go does not find them.
func (r *reader) sameSnapshots(journal string) {
	const key = "journal-name"
	here, there := r.section+"."+key, journal+"."+key
	if r.err != nil || r.setting(here) == r.setting(there) || r.err != nil || !r.setsAny(r.section) {
		return
	}
	at := r.At(here)
	if at.IsZero() {
		at = r.At(there)
	}
	r.err = r.wrongAt(at, here, "%s and %s are different: both must be the same, as one client serves both", here, there)
}

// setsAny reports whether the file sets any key of a section.
func (r *reader) setsAny(section string) bool {
	found, err := r.Keys(section)
	return err != nil || slices.ContainsFunc(found, func(k hocon.Key) bool { return !k.At.IsZero() })
}

// setting returns the value at a path in a comparable form.
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
