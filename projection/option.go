package projection

import "github.com/dynajournal/dynajournal/projection/internal/engine"

// Option is an option of a projection, for [AtLeastOnce], [Transactional] and the like.
type Option func(*Projection)

// OnlyIDs is an option with which a projection takes only the persistence ids that begin with one
// of the prefixes. Of the others it reads and writes nothing, and [WaitFor] never comes to an end.
//
// The prefixes may be changed. Persistence ids that come in begin with their first event, those
// that come back where they were left. A group that runs with other prefixes looks at all
// persistence ids once.
func OnlyIDs(prefixes ...string) Option {
	return func(p *Projection) {
		only := &engine.SpecOf(p).Only
		only.Filtered, only.Prefixes = true, append(only.Prefixes, prefixes...)
	}
}

// OnlyTags is an option with which a projection takes only events that have one of the tags. The
// others are read, as the journal has no order by tag. They move the offset, so WaitFor works for
// them too. Gaps and purges are told whatever the tags of their events were.
//
// The offsets tell what was handled with the tags of that time. With other tags give the projection
// another name, so that it begins with the first event. This holds for OnlyTypes too.
func OnlyTags(tags ...string) Option {
	return func(p *Projection) {
		only := &engine.SpecOf(p).Only
		only.Tagged, only.Tags = true, append(only.Tags, tags...)
	}
}

// OnlyTypes is an option with which a projection takes only events that are stored with one of the
// manifests: dynajournal.Event.SerializerManifest, or Manifest if Config.Adapter gives one. The
// others are not decoded. What else it means is that of [OnlyTags]; with both, an event needs both.
func OnlyTypes(manifests ...string) Option {
	return func(p *Projection) {
		only := &engine.SpecOf(p).Only
		only.Typed, only.Types = true, append(only.Types, manifests...)
	}
}

// FromNow is an option with which a projection that has never run begins after the events that
// there are. See [Group.Start]. To a projection that has run before it means nothing.
func FromNow() Option { return func(p *Projection) { engine.SpecOf(p).FromNow = true } }
