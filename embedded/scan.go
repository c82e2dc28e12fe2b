package embedded

import (
	"bytes"
	"encoding/binary"
)

const maxSegments = 1_000_000

// scan returns the items of a table, an index, or a segment of them. Items are in the order of the
// hashes of their partition keys, which never changes.
//
// It checks, in this order:
//  1. the model
//  2. that legacy parameters (AttributesToGet, ScanFilter, ConditionalOperator) and expressions are
//     not mixed
//  3. that names and values are given only with expressions
//  4. that AttributesToGet names each attribute once
//  5. the values of ExclusiveStartKey
//  6. Segment against TotalSegments
//  7. the placeholders, the filter and the projection
//  8. the table and the index. Global indexes do not support consistent reads, and no reads at all
//     while they are backfilled.
//  9. the part of ExclusiveStartKey that is the key of the index
//  10. Select against the projection of the index
//  11. ExclusiveStartKey, which must be a key of the segment
//  12. that the projection and the filter have no path into a key attribute
//  13. the throughput, after the page is read
//
// A page ends after 1 MB of items or Limit items, before the filter. Segments are equal ranges of
// hashes.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
func (e *Engine) scan(c *call) error {
	var in scanInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	bound, err := in.bindAll(e)
	if err != nil {
		return withOlderWording(err)
	}
	t, err := e.shared(*in.tableName)
	if err != nil {
		return err
	}
	defer t.lock.RUnlock()
	i, err := in.target(t)
	if err != nil {
		return err
	}
	if in.start.item != nil && i != nil {
		if err := t.checkStart(i, in.start.item); err != nil {
			return err
		}
	}
	p := &pageRead{table: t, index: i, filter: evaluator(bound.filter)}
	if p.fetchItems, err = in.checkSelect(t, i, bound.project); err != nil {
		return err
	}
	p.limit, p.consistent = int(or(in.limit, 0)), or(in.consistent, false)
	p.lower, p.upper = t.segmentBounds(i, or(in.segment, 0), or(in.segments, 1))
	if in.start.item != nil {
		key := in.start.item
		if i != nil {
			key = t.keyAttributes(key)
		}
		if err := t.checkStartItem(key); err != nil {
			return err
		}
		p.start = t.entryKey(i, in.start.item)
		if bytes.Compare(p.start, p.lower) < 0 || bytes.Compare(p.start, p.upper) >= 0 {
			return invalid(badStart+": Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "+
				"TotalSegments: %d Segment: %d", or(in.segments, 1), or(in.segment, 0))
		}
	}
	if err := t.checkPaths(bound.project.expression, bound.filter); err != nil {
		return err
	}
	return e.respondPage(c, p, &in.readInput, bound.project)
}

func (e *Engine) scanTargets(c *call) []target {
	var in scanInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	t, _, _ := e.readTarget(&in.readInput)
	return []target{t}
}

type scanInput struct {
	readInput

	segment, segments *int64
}

func (in *scanInput) read(name string, r *decoder) {
	switch name {
	case "Segment":
		in.segment = r.integer("Integer")
	case "TotalSegments":
		in.segments = r.integer("Integer")
	default:
		in.readInput.read(name, r)
	}
}

func (in *scanInput) check() error {
	var c constraints
	in.constrain(&c, "scanFilter")
	c.atLeast(in.limit, "limit", 1)
	c.atLeast(in.segments, "totalSegments", 1)
	c.atMost(in.segments, "totalSegments", maxSegments)
	c.atLeast(in.segment, "segment", 0)
	c.atMost(in.segment, "segment", maxSegments-1)
	if err := c.err(); err != nil {
		return err
	}
	projection := parameter{"ProjectionExpression", has(in.projection)}
	filter := parameter{"FilterExpression", has(in.filter)}
	legacy := givenNames(parameter{"AttributesToGet", in.attributesToGet != nil},
		parameter{"ScanFilter", in.legacyFilter != nil}, parameter{"ConditionalOperator", has(in.operator)})
	err := exclusive(legacy, givenNames(projection, filter))
	if err != nil {
		return err
	}
	if err := in.allowed([]parameter{filter}, projection); err != nil {
		return err
	}
	if err := uniqueNames(in.attributesToGet); err != nil {
		return err
	}
	if in.start.invalid != nil {
		return invalid("%s", badStart+": "+in.start.invalid.OlderWording().Message)
	}
	return in.checkSegments()
}

func (in *scanInput) checkSegments() error {
	switch {
	case in.segment != nil && in.segments == nil:
		return invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case in.segment == nil && in.segments != nil:
		return invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case in.segment != nil && *in.segment >= *in.segments:
		return invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: "+
			"Segment: %d is not less than TotalSegments: %d", *in.segment, *in.segments)
	}
	return nil
}

func (in *scanInput) bindAll(e *Engine) (boundRead, error) {
	var b boundRead
	parameters, err := in.bind()
	if err != nil {
		return b, err
	}
	err = in.bindRest(e, parameters, &b)
	return b, err
}

// segmentBounds returns the first storage key of a segment, and the key after the last one.
// Segments are equal ranges of hashes.
func (s *schema) segmentBounds(i *index, segment, segments int64) (lower, upper []byte) {
	prefix := s.entriesPrefix(i)
	from := func(segment int64) []byte {
		hash := uint64(segment) << 32 / uint64(segments)
		return binary.BigEndian.AppendUint32(bytes.Clone(prefix), uint32(hash))
	}
	if segment == segments-1 {
		return from(segment), prefixEnd(prefix)
	}
	return from(segment), from(segment + 1)
}
