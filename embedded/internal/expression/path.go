package expression

import (
	"strconv"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

type stepKind uint8

const (
	memberStep stepKind = iota
	elementStep
	// placeholderStep is a member whose name is the placeholder with the number index.
	placeholderStep
)

// Step is one part of a document path: the name of an attribute or map member, or the index of a
// list element.
type Step struct {
	kind  stepKind
	name  string
	index int
}

// Member returns the step to a top-level attribute or a map member.
func Member(name string) Step { return Step{name: name} }

// Element returns the step to a list element, counted from 0.
func Element(index int) Step { return Step{kind: elementStep, index: index} }

// Path is a document path. It has at least one step, and the first one is a member.
type Path []Step

// resolve returns the step with its placeholder replaced by the name.
func (s Step) resolve(bindings []binding) Step {
	if s.kind == placeholderStep {
		return Member(bindings[s.index].name)
	}
	return s
}

// memberName returns the name of a step that is a member.
func (s Step) memberName(bindings []binding) string {
	if s.kind == placeholderStep {
		return bindings[s.index].name
	}
	return s.name
}

func (p Path) resolve(bindings []binding) Path {
	resolved := make(Path, len(p))
	for i, step := range p {
		resolved[i] = step.resolve(bindings)
	}
	return resolved
}

func (p Path) equal(other Path, bindings []binding) bool {
	if len(p) != len(other) {
		return false
	}
	for i, step := range p {
		if step.resolve(bindings) != other[i].resolve(bindings) {
			return false
		}
	}
	return true
}

// describe returns the path as in DynamoDB's messages: [a, b, [1]].
func (p Path) describe(bindings []binding) string {
	var text strings.Builder
	text.WriteByte('[')
	for i, step := range p {
		if i > 0 {
			text.WriteString(", ")
		}
		if step.kind == elementStep {
			text.WriteByte('[')
			text.WriteString(strconv.Itoa(step.index))
			text.WriteByte(']')
		} else {
			text.WriteString(step.memberName(bindings))
		}
	}
	text.WriteByte(']')
	return text.String()
}

// In returns the value at the path in the item, if there is one. The path has no placeholders.
func (p Path) In(item attribute.Item) (attribute.Value, bool) { return p.value(scope{item: item}) }

// value returns the value at the path in the item, if there is one.
func (p Path) value(s scope) (attribute.Value, bool) {
	v, found := s.item[p[0].memberName(s.bindings)]
	for _, step := range p[1:] {
		if !found {
			break
		}
		v, found = step.of(v, s.bindings)
	}
	return v, found
}

// of returns the member or element of a value at the step.
func (s Step) of(v attribute.Value, bindings []binding) (attribute.Value, bool) {
	if s.kind != elementStep {
		member, found := v.Map[s.memberName(bindings)]
		return member, found
	}
	if s.index >= len(v.List) {
		return attribute.Value{}, false
	}
	return v.List[s.index], true
}

// Attribute returns the top-level attribute of a path without placeholders.
func (p Path) Attribute() string { return p[0].name }

// LastMember returns the name at the end of a path without placeholders, or false if the end is an
// element.
func (p Path) LastMember() (string, bool) {
	last := p[len(p)-1]
	return last.name, last.kind == memberStep
}
