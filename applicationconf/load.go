package applicationconf

import (
	"maps"
	"slices"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/applicationconf/internal/hocon"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Settings are what a file sets.
type Settings struct {
	// Config has the fields that the file sets, and Akka's names of tables if the file is for Akka.
	// All others are zero, which is their default. A value that the file sets is in its bounds.
	//
	// AWS is never set: it is what the config module of the AWS SDK loads. Logger is not set
	// either: see Debug.
	Config dynajournal.Config

	// Debug reports whether the file sets log-config or tracing. Set Config.Logger to a logger that
	// takes level debug then.
	Debug bool

	// Region is the region of the journal, for the config module of the AWS SDK. It is empty if the
	// file sets none, as those of the plug-ins' early versions.
	Region string

	// Origins are where the file sets these fields, by their names: that of Config's field, such as
	// "JournalTable" or "HTTP.Proxy", or "Region". What the file does not set has none.
	Origins map[string]Origin

	// Notes are the settings that a JVM takes from elsewhere than Go does, a line each, with the
	// file, the line and what to write in the file. Log them.
	Notes []string
}

// Option changes what Load accepts.
type Option func(*file)

// AllowKey makes Load accept a key that it does not know, because an extension of the plug-ins
// reads it. The key has no effect. It is a path such as "app-journal.stream-endpoint", as in the
// text of [ErrUnknownKey], or the part of it below a section. All keys below it are accepted too.
func AllowKey(key string) Option {
	return func(f *file) { f.allowed = append(f.allowed, key) }
}

// Load loads a file, and the files that it includes, which are searched next to it. References are
// looked up in the file, then in the environment: ${?JOURNAL_TABLE} is the value of the variable.
//
// Every key in the plug-ins' sections has to be one of theirs or of their host's, unless
// [AllowKey] allows it. Keys without a meaning here, such as dispatchers, have no effect. The
// snapshot store and the read journal use the journal's settings where the file sets none.
//
// A file that is wrong is an [*Error]. A file that can't be read is an error that wraps that of
// package os, such as fs.ErrNotExist. One of more than 1 MiB, with what it includes, is not read.
// Load may be called by several goroutines at the same time.
func Load(path string, options ...Option) (Settings, error) {
	s, akkas, err := readAs(path, pekko, options)
	if err == nil && akkas {
		s, _, err = readAs(path, akka, options) // again, with the defaults that it can refer to
	}
	if err != nil {
		return Settings{}, err
	}
	return s, nil
}

// readAs reads a file with the defaults of a product, and reports whether it is for Akka.
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
