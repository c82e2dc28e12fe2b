package applicationconf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal/applicationconf/internal/hocon"
)

// sections contains the sections that configure the plug-ins.
type sections struct {
	product            product
	journal, snapshots string
	// store and read report that the file configures a snapshot store and a read journal.
	store, read bool
}

// plugin is a key of the host that names the section of a plug-in.
type plugin struct {
	product product
	key     string
	// section is the named section, or empty.
	section string
}

// find finds the sections. A file without any is an error, because a user who names a file wants it
// to have an effect.
func (f *file) find() (sections, error) {
	s := sections{product: pekko, journal: usualJournal, snapshots: usualSnapshots}
	journal, err := f.plugin("journal")
	if err != nil {
		return s, err
	}
	store, err := f.plugin("snapshot-store")
	if err != nil {
		return s, err
	}
	if journal.section != "" && store.section != "" && journal.product != store.product {
		return s, f.wrong(store.key, "%s is set, but the journal plug-in belongs to %s: both plug-ins must belong to the same host",
			store.key, journal.product.host)
	}
	if journal.section != "" {
		s.product, s.journal = journal.product, journal.section
	} else if class, _, err := f.Text(usualJournal + ".class"); err != nil {
		return s, f.wrong(usualJournal+".class", "%w", err)
	} else if strings.HasPrefix(class, akka.host+".") {
		s.product = akka
	}
	s.store = !f.At(usualSnapshots).IsZero()
	if store.section != "" {
		if s.store = !ofHost(store); s.store {
			s.snapshots = store.section
		}
	}
	s.read = !f.At(usualRead).IsZero()
	if err := f.checkPlugins(s, journal.key, store.key); err != nil {
		return s, err
	}
	if err := f.checkMisspelt(s); err != nil {
		return s, err
	}
	if journal.section == "" && f.At(usualJournal).IsZero() && !s.store && !s.read {
		return s, f.noSection()
	}
	return s, nil
}

// checkPlugins checks that the sections in use configure DynamoDB plug-ins. journal and store are
// the host's keys that name the sections, or empty.
func (f *file) checkPlugins(s sections, journal, store string) error {
	if err := f.checkPlugin(s.product, ofJournal, s.journal, journal); err != nil {
		return err
	}
	if s.store {
		if err := f.checkPlugin(s.product, ofSnapshots, s.snapshots, store); err != nil {
			return err
		}
	}
	if s.read {
		return f.checkPlugin(s.product, ofReading, usualRead, usualRead)
	}
	return nil
}

// plugin reads the name of a section from the host's key. If the file sets both Akka's and Pekko's
// key, it returns an error.
func (f *file) plugin(kind string) (plugin, error) {
	var found plugin
	for _, p := range []product{pekko, akka} {
		key := p.host + ".persistence." + kind + ".plugin"
		section, set, err := f.Text(key)
		switch {
		case err != nil:
			return found, f.wrong(key, "%w", err)
		case !set || section == "":
			continue
		case found.section != "":
			return found, f.wrong(key, "both %s and %s are set: set only one of them", key, found.key)
		}
		if found = (plugin{p, key, section}); ofHost(found) && kind == "snapshot-store" || f.Has(section) {
			continue
		}
		return found, f.notFound(kind, found)
	}
	return found, nil
}

// notFound returns the error for a plug-in whose section is not in the file.
func (f *file) notFound(kind string, p plugin) error {
	if err := f.notAnObject(p.section); err != nil {
		return err
	}
	of := ofJournal
	if kind == "snapshot-store" {
		of = ofSnapshots
	}
	if err := f.checkPlugin(p.product, of, p.section, p.key); err != nil {
		return err
	}
	names := []string{usualJournal, usualSnapshots}
	if top, err := f.Keys(""); err == nil {
		for _, k := range top {
			names = append(names, hocon.Join(k.Name))
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == p.section })
	help := didYouMean(nearest(p.section, names, len(p.section)/3))
	if help == "" {
		help = ": if it configures another plug-in, that is not supported: only Akka's plug-in up to 1.x and Pekko's are"
	}
	return f.wrong(p.key, "%s is %q, but %w of that name%s", p.key, p.section, ErrNoSection, help)
}

// ofHost reports whether a snapshot store belongs to the host: either no store, or one without
// DynamoDB.
func ofHost(p plugin) bool {
	name, _ := strings.CutPrefix(p.section, p.product.host+".persistence.")
	return slices.Contains([]string{"no-snapshot-store", "snapshot-store.local", "snapshot-store.proxy"}, name)
}

// farSection is the largest number of edits between the name of a section and the name it is
// probably meant for.
const farSection = 4

// checkMisspelt checks that no top-level section has a name similar to a plug-in's section. A
// section with a class is a plug-in of its own, and is not checked.
func (f *file) checkMisspelt(s sections) error {
	top, err := f.Keys("")
	if err != nil {
		return f.wrongAt(hocon.Position{}, "", "%w", err)
	}
	usual := []string{usualJournal, usualSnapshots, usualRead}
	for _, key := range top {
		name := hocon.Join(key.Name)
		if slices.Contains(usual, name) || name == s.journal || name == s.snapshots || !f.Has(name) {
			continue
		}
		meant := nearest(name, slices.Clone(usual), farSection)
		if meant == "" {
			continue
		}
		if _, set, err := f.Text(name + ".class"); err != nil || !set {
			return f.unknown(key.At, name, meant)
		}
	}
	return nil
}

// noSection returns the error for a file that does not configure the plug-ins.
func (f *file) noSection() error {
	missing := ""
	if skipped := f.Skipped(); len(skipped) > 0 {
		missing = fmt.Sprintf(", and %v includes %q, which is not found", skipped[0].At, skipped[0].Name)
	}
	return f.wrongAt(hocon.Position{}, "", "%w %s, and neither pekko.persistence.journal.plugin nor "+
		"akka.persistence.journal.plugin names another%s", ErrNoSection, usualJournal, missing)
}
