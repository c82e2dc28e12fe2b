package engine

// The public packages of projections share groups, projections and sources without exporting their
// fields: each public type embeds a handle, whose methods are unexported.

// GroupHandle is embedded in projection.Group.
type GroupHandle struct{ group *Group }

// NewGroupHandle returns the handle of a group.
func NewGroupHandle(g *Group) GroupHandle { return GroupHandle{g} }

func (h *GroupHandle) opened() *Group { return h.group }

// GroupOf returns the Group of a projection.Group.
func GroupOf(of interface{ opened() *Group }) *Group { return of.opened() }

// SourceHandle is embedded in projection.Source.
type SourceHandle struct{ source Source }

func (h *SourceHandle) chosen() *SourceHandle { return h }

// NewSource returns a projection.Source.
func NewSource[S any, H interface {
	*S
	chosen() *SourceHandle
}](of Source) S {
	var s S
	H(&s).chosen().source = of
	return s
}

// SourceOf returns the Source of a projection.Source, or nil.
func SourceOf(of interface{ chosen() *SourceHandle }) Source { return of.chosen().source }

// SpecHandle is embedded in projection.Projection.
type SpecHandle struct{ spec Spec }

func (h *SpecHandle) definition() *Spec { return &h.spec }

// Define returns a projection.Projection with its options.
func Define[P any, H interface {
	*P
	definition() *Spec
}, O ~func(*P)](name string, k Kind, opts []O) P {
	var p P
	*H(&p).definition() = Spec{inGroup: name, kind: k}
	for _, apply := range opts {
		apply(&p)
	}
	return p
}

// SpecOf returns the Spec of a projection.Projection.
func SpecOf(of interface{ definition() *Spec }) *Spec { return of.definition() }
