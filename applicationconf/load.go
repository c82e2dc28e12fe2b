package applicationconf

import (
	"maps"
	"slices"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/applicationconf/internal/hocon"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Settings are the settings of a file.
type Settings struct {
	// Config contains the fields that the file sets, and Akka's table names if the file is for
	// Akka. All other fields are zero, which means their default. Every value is within its bounds.
	//
	// AWS is never set: load it with the config module of the AWS SDK. Logger is not set either:
	// see Debug.
	Config dynajournal.Config

	// Debug reports whether the file turns on log-config or tracing. If so, set Config.Logger to a
	// logger with level debug enabled.
	Debug bool

	// Region is the region of the journal, for the config module of the AWS SDK. It is empty if the
	// file does not set it, as in files for early versions of the plug-ins.
	Region string

	// Origins maps names of fields to the positions at which the file sets them. A name is a field
	// of Config, such as "JournalTable" or "HTTP.Proxy", or "Region". Fields that the file does not
	// set are not in the map.
	Origins map[string]Origin

	// Notes describes settings that a JVM takes from another section than Go does. Each note is one
	// line, with the file, the line, and the text to add to the file. Log them.
	Notes []string
}

// Option configures [Load].
type Option func(*file)

// AllowKey makes [Load] accept a key that it does not know, because an extension of the plug-ins
// reads it. The key has no effect. It is a path such as "app-journal.stream-endpoint", as in the
// text of [ErrUnknownKey], or the part of that path after the section. All keys below it are also
// accepted.
func AllowKey(key string) Option {
	return func(f *file) { f.allowed = append(f.allowed, key) }
}

// Load loads a file and the files that it includes, which are searched next to it. References are
// resolved from the file, then from the environment: ${?JOURNAL_TABLE} is the value of the
// variable.
//
// Every key in the plug-ins' sections must be a key of the plug-ins or of their host, unless
// [AllowKey] allows it. Keys without a meaning here, such as dispatchers, have no effect. The
// snapshot store and the read journal use the journal's settings where the file sets none for them.
//
// For a file with wrong content the error is an [*Error]. For a file that can't be read it wraps
// the error of package os, such as fs.ErrNotExist. Load refuses a file of more than 1 MiB,
// including the files it includes. Load may be called by several goroutines at the same time.
func Load(path string, options ...Option) (Settings, error) {
	s, akkas, err := readAs(path, pekko, options)
	if err == nil && akkas {
		s, _, err = readAs(path, akka, options) // with Akka's defaults, to which the file can refer
	}
	if err != nil {
		return Settings{}, err
	}
	return s, nil
}

// readAs reads a file with the defaults of a product. It reports whether the file is for Akka; if
// that is not the product, the settings are empty.
func readAs(path string, p product, options []Option) (Settings, bool, error) {
	document, err := hocon.Load(path, p.defaults())
	if err != nil {
		return Settings{}, false, parseError(err)
	}
	f := &file{Document: document, path: path}
	for _, option := range options {
		option(f)
	}
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
	r := reader{file: f, section: from.journal, origins: map[any]Origin{}}
	r.classless(from.journal, usualJournal)
	if from.store {
		r.classless(from.snapshots, usualSnapshots)
	}
	if from.product == akka {
		c.JournalTable, c.SnapshotTable = akka.tables, akka.tables+"-snapshot"
		r.origins[&c.JournalTable], r.origins[&c.SnapshotTable] = Origin{File: f.path}, Origin{File: f.path}
	}
	r.text("endpoint", &c.Endpoint)
	r.text("region", &s.Region)
	r.credentials(c)
	r.text("journal-table", &c.JournalTable)
	r.journalName(&c.JournalName)
	r.number("sequence-shards", 1, layout.MaxShards, &c.SequenceShards)
	r.number("replay-parallelism", 1, dynajournal.MaxMaxConnections, &c.ReplayParallelism)
	r.flag("tracing", &s.Debug)
	r.flag("log-config", &s.Debug)
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
		r.flag("tracing", &s.Debug)
		r.sameSnapshots(from.journal)
		r.same(from.journal, shared()...)
	}
	r.section = from.journal
	r.absolute(scheme, &c.Endpoint)
	if r.err != nil {
		return Settings{}, r.err
	}
	s.Origins, s.Notes = r.named(&s), r.notes
	return s, nil
}

// shared returns the keys that must be the same for the journal, the snapshot store and the read
// journal, because one client serves all of them.
func shared() []string {
	return slices.Sorted(maps.Keys(sharedKeys().without("tracing").without("client-dispatcher")))
}

// check checks the keys of all sections, including sections to which others only refer.
func (f *file) check(from sections) error {
	p := from.product
	for _, section := range []struct {
		name  string
		known keys
	}{
		{from.journal, p.journalKeys()}, {usualJournal, p.journalKeys()},
		{from.snapshots, p.snapshotKeys()}, {usualSnapshots, p.snapshotKeys()},
		{usualRead, p.readKeys()},
	} {
		if !f.Has(section.name) {
			if err := f.notAnObject(section.name); err != nil {
				return err
			}
			continue
		}
		if err := f.checkKeys(section.name, section.known); err != nil {
			return err
		}
	}
	return nil
}
