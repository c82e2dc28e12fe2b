package applicationconf

import (
	"slices"
	"strings"
)

// kindOf is the kind of a plug-in, on which its section and its class depend.
type kindOf int

const (
	ofJournal kindOf = iota
	ofSnapshots
	ofReading
)

// classesOf returns the class names of a plug-in of the product, the current name first. The others
// are names in earlier versions.
func (p product) classesOf(kind kindOf) []string {
	switch kind {
	case ofSnapshots:
		return []string{p.snapshotKeys()["class"]}
	case ofReading:
		return []string{p.readKeys()["class"], p.classes + "query.DynamodbReadJournalProvider"}
	default:
		return []string{p.journalKeys()["class"], p.host + ".persistence.journal.dynamodb.DynamoDBJournal"}
	}
}

// otherPlugins contains prefixes of section names in the reference.conf of other plug-ins and of
// the hosts. Version 2 of Akka's plug-in, akka.persistence.dynamodb, has the same class as version
// 1, but other tables.
var otherPlugins = []string{
	"akka.persistence.", "pekko.persistence.", "j5ik2o.", "jdbc-", "cassandra-", "couchbase-", "inmemory-",
	"akka-contrib-mongodb-", "pekko-contrib-mongodb-",
}

// ofVersion2 is the prefix, after the host's name, of the sections of Akka's plug-in 2.x.
const ofVersion2 = ".persistence.dynamodb"

// checkPlugin checks that a section configures a DynamoDB plug-in: by its class, or by its name if
// the file sets no class. key names the section. An error is at the position of the class if the
// class is wrong, and otherwise of key.
func (f *file) checkPlugin(p product, kind kindOf, section, key string) error {
	classes := p.classesOf(kind)
	supported := "only Akka's plug-in up to 1.x and Pekko's are, with the class " + classes[0]
	if strings.HasPrefix(section, akka.host+ofVersion2) || strings.HasPrefix(section, pekko.host+ofVersion2) {
		return f.wrong(key, "%s is %q, which is Akka's plug-in 2.x: its tables have another layout: it %w, %s",
			key, section, ErrNotSupported, supported)
	}
	path := section + ".class"
	class, set, err := f.Text(path)
	switch {
	case err != nil:
		return f.wrong(path, "%w", err)
	case set && !f.At(path).IsZero() && !slices.Contains(classes, class):
		return f.wrong(path, "%s is %q, which is not the DynamoDB plug-in's class: it %w, %s", path, class, ErrNotSupported, supported)
	case !set && slices.ContainsFunc(otherPlugins, func(other string) bool { return strings.HasPrefix(section, other) }):
		return f.wrong(key, "%s is %q, which is another plug-in: it %w, %s", key, section, ErrNotSupported, supported)
	}
	return nil
}

// classless adds a note if a section with its own name has no class, because a JVM then does not
// find the plug-in.
func (r *reader) classless(section, usual string) {
	if section == usual {
		return
	}
	if _, set, err := r.Text(section + ".class"); err != nil || set {
		return
	}
	r.add(section, "%s has no class, without which a JVM does not find the plug-in: write %s = ${%s} { … }",
		section, section, usual)
}
