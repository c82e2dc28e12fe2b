package engine

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Attributes of a hole in a row. attrFirst and attrLast are its first and its last number.
// attrBehind is the writer of the event after it. At attrAgedAt, a time of the service in
// milliseconds since 1970, the hole was known to be missing for attrAge milliseconds. A passed hole
// does not have the last three attributes. Earlier versions do not store attrAgedAt, and remove it.
const (
	attrFirst  = "first"
	attrLast   = "last"
	attrBehind = "behind"
	attrAge    = "age"
	attrAgedAt = "at"
)

// encodeHoles returns the stored form of the holes of a row.
func encodeHoles(holes []hole) types.AttributeValue {
	list := make([]types.AttributeValue, len(holes))
	for i, h := range holes {
		item := dynamo.Attributes{attrFirst: Number(h.First), attrLast: Number(h.Last)}
		if h.writer != "" {
			item[attrBehind] = Text(h.writer)
		}
		if h.age > 0 {
			item[attrAge] = Number(h.age.Milliseconds())
		}
		if !h.at.IsZero() {
			item[attrAgedAt] = Number(h.at.UnixMilli())
		}
		list[i] = &types.AttributeValueMemberM{Value: item}
	}
	return &types.AttributeValueMemberL{Value: list}
}

// holes decodes the holes of an attribute.
func (d *Decoder) holes(name string) []hole {
	switch v := d.Item[name].(type) {
	case nil:
		return nil
	case *types.AttributeValueMemberL:
		all := make([]hole, len(v.Value))
		for i, value := range v.Value {
			h, err := decodeHole(value)
			if err != nil {
				d.Fail(name, fmt.Errorf("element %d: %w", i, err))
				return nil
			}
			all[i] = h
		}
		return all
	default:
		d.Fail(name, fmt.Errorf("unexpected type %T", v))
	}
	return nil
}

var errNoHole = errors.New("invalid span of sequence numbers")

func decodeHole(value types.AttributeValue) (hole, error) {
	m, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return hole{}, fmt.Errorf("unexpected type %T", value)
	}
	d := Decoder{Item: m.Value}
	h := hole{
		Span:   core.Span{First: d.Number(attrFirst), Last: d.Number(attrLast)},
		writer: d.Text(attrBehind),
	}
	if at := d.Number(attrAgedAt); at > 0 {
		h.at = time.UnixMilli(at)
	}
	age := d.Number(attrAge)
	const longest = int64(1<<63-1) / int64(time.Millisecond)
	h.age = time.Duration(min(age, longest)) * time.Millisecond
	switch {
	case d.Err != nil:
		return hole{}, d.Err
	case h.First < 1 || h.Last < h.First:
		return hole{}, fmt.Errorf("%w: %s to %s", errNoHole, strconv.FormatInt(h.First, 10), strconv.FormatInt(h.Last, 10))
	}
	return h, nil
}
