package embedded

import (
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// streamParameter is a StreamSpecification.
type streamParameter struct {
	enabled *bool
	view    *string
}

func (r *decoder) streamSpecification() *streamParameter {
	var p streamParameter
	given := r.structure("StreamSpecification", func(name string) {
		switch name {
		case "StreamEnabled":
			p.enabled = r.boolean()
		case "StreamViewType":
			p.view = r.text()
		default:
			r.skip()
		}
	})
	if !given {
		return nil
	}
	return &p
}

func (c *constraints) streamSpecification(p *streamParameter) {
	if p == nil {
		return
	}
	c.oneOf(p.view, "streamSpecification.streamViewType", viewNew, viewOld, viewBoth, viewKeys)
	c.required(has(p.enabled), "streamSpecification.streamEnabled")
}

// checkCreated checks the parameter of a CreateTable.
func (p *streamParameter) checkCreated() error {
	switch {
	case p == nil:
	case *p.enabled && p.view == nil:
		return invalid(invalidParameters + "Table is being created with a stream enabled, UpdateViewType is required")
	case !*p.enabled && p.view != nil:
		return invalid(invalidParameters + "Table is being created with a stream disabled, UpdateViewType should not be specified")
	}
	return nil
}

// checkUpdated checks the parameter of an UpdateTable against the table.
func (p *streamParameter) checkUpdated(t *table) error {
	switch {
	case p == nil:
	case *p.enabled && p.view == nil:
		return invalid(invalidParameters + "If stream is being enabled then UpdateViewType is required")
	case !*p.enabled && p.view != nil:
		return invalid(invalidParameters + "If stream is being disabled, then UpdateViewType must not be specified")
	case *p.enabled && t.stream != nil:
		return invalid("Table already has an enabled stream: TableName: %s", t.Name)
	case !*p.enabled && t.stream == nil:
		return invalid("Table has no stream to disable: TableName: %s", t.Name)
	}
	return nil
}

// checkStream checks a change of the stream against the table and the other changes of the request.
func (in *updateTableInput) checkStream(t *table) error {
	switch {
	case in.stream == nil:
		return nil
	case in.throughput != nil:
		return invalid(invalidParameters + "You cannot modify stream status while updating table IOPS")
	case slices.ContainsFunc(in.indexes, func(u indexUpdate) bool { return u.update == nil }):
		return invalid(invalidParameters + "You cannot create or delete index while changing stream status")
	}
	return in.stream.checkUpdated(t)
}

// enableStream creates the stream that the parameter asks for, and returns it with the functions
// that store it. It returns nil if the parameter does not enable a stream.
func (e *Engine) enableStream(s *schema, p *streamParameter) (*stream, []func(*storage.Batch), error) {
	if p == nil || !*p.enabled {
		return nil, nil, nil
	}
	made := e.newStream(s, *p.view)
	save, err := made.current().save()
	if err != nil {
		return nil, nil, err
	}
	s.Stream = &streamReference{Label: made.label, View: made.view, Enabled: true}
	return made, []func(*storage.Batch){save}, nil
}

// disableStream disables the stream of a table in the batch that commit commits. commit must add
// the functions that it is given to that batch. The caller holds the table's lock exclusively.
func (e *Engine) disableStream(t *table, commit func(also ...func(*storage.Batch)) error) error {
	s := t.stream
	if s == nil {
		return commit()
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	state := s.disable(e.now().UnixMilli())
	save, err := state.save()
	if err != nil {
		return err
	}
	if err := commit(save); err != nil {
		return err
	}
	s.install(state)
	t.stream = nil
	return nil
}

// changeStream stores a table's next schema, and enables or disables its stream in the same commit.
// The caller holds the table's lock exclusively.
func (e *Engine) changeStream(t *table, next *schema, p *streamParameter) error {
	commit := func(also ...func(*storage.Batch)) error {
		return e.changeSchema(t, func(s *schema) { *s = *next }, append(also, t.droppedIndexes(next))...)
	}
	switch {
	case p == nil:
		return commit()
	case !*p.enabled:
		next.Stream = &streamReference{Label: t.stream.label, View: t.stream.view}
		return e.disableStream(t, commit)
	}
	made, save, err := e.enableStream(next, p)
	if err != nil {
		return err
	}
	if err := commit(save...); err != nil {
		return err
	}
	t.stream = made
	e.showStream(made)
	return nil
}

// describeStream adds the newest stream to the description of its table.
func (s *schema) describeStream(description object) {
	if s.Stream == nil {
		return
	}
	description["LatestStreamLabel"] = s.Stream.Label
	description["LatestStreamArn"] = streamARN(s.Name, s.Stream.Label)
	if s.Stream.Enabled {
		description["StreamSpecification"] = object{"StreamEnabled": true, "StreamViewType": s.Stream.View}
	}
}
