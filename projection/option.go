package projection

import "github.com/dynajournal/dynajournal/projection/internal/engine"

// Option is an option of a projection, for [AtLeastOnce], [Transactional] and similar functions.
type Option func(*Projection)

// OnlyIDs limits a projection to persistence ids that begin with one of the prefixes. For other
// persistence ids it reads and writes nothing, and [WaitFor] never returns.
//
// The prefixes may be changed. A persistence id that becomes included starts with its first event,
// or continues at its offset if it was included before. A group that runs with other prefixes
// sweeps all persistence ids once.
func OnlyIDs(prefixes ...string) Option {
	return func(p *Projection) {
		only := &engine.SpecOf(p).Only
		only.Filtered, only.Prefixes = true, append(only.Prefixes, prefixes...)
	}
}

// OnlyTags limits a projection to events that have one of the tags. Other events are still read,
// because the journal has no order by tag. They move the offset, so [WaitFor] works for them. Gaps
// and purges are reported whatever the tags of their events were.
//
// The offsets cover only the tags of their time. To use other tags, give the projection another
// name, so that it starts with the first event. The same applies to OnlyTypes.
func OnlyTags(tags ...string) Option {
	return func(p *Projection) {
		only := &engine.SpecOf(p).Only
		only.Tagged, only.Tags = true, append(only.Tags, tags...)
	}
}

// OnlyTypes limits a projection to events that are stored with one of the manifests:
// dynajournal.Event.SerializerManifest, or Manifest if Config.Adapter gives one. Other events are
// not decoded. Otherwise OnlyTypes works like [OnlyTags]. With both options, an event must match
// both.
func OnlyTypes(manifests ...string) Option {
	return func(p *Projection) {
		only := &engine.SpecOf(p).Only
		only.Typed, only.Types = true, append(only.Types, manifests...)
	}
}

// FromNow makes a projection that has never run start after the existing events. See [Group.Start].
// It has no effect on a projection that has run before.
func FromNow() Option { return func(p *Projection) { engine.SpecOf(p).FromNow = true } }
