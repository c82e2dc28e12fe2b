package layout

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Attributes of an event that only this project writes. A JVM plug-in ignores them.
const (
	AttrTime = "time"
	AttrMeta = "meta"
	AttrTags = "tags"
)

// MaxMetadataBytes is the largest size of the metadata of an event, and of its tags: the sum of all
// keys and values in bytes.
const MaxMetadataBytes = 2048

// Metadata is stored with an event, next to its payload. The zero Metadata is empty.
type Metadata struct {
	// Time is the time at which the event was written, in microseconds since 1970, or 0 if it is
	// not known.
	Time int64
	// Values are the program's values by their keys, or nil.
	Values map[string]string
	// Tags are in ascending order, or nil.
	Tags []string
}

// IsZero reports whether there is nothing to store.
func (m *Metadata) IsZero() bool { return m.Time == 0 && len(m.Values) == 0 && len(m.Tags) == 0 }

// Equal reports whether two events have the same metadata.
func (m *Metadata) Equal(o *Metadata) bool {
	return m.Time == o.Time && maps.Equal(m.Values, o.Values) && slices.Equal(m.Tags, o.Tags)
}

// Reasons why metadata can't be stored.
var (
	ErrMetadataTooLarge = fmt.Errorf("its metadata, or its tags, have more than %d bytes", MaxMetadataBytes)
	ErrMetadataEmpty    = errors.New("a key of its metadata, or a tag, is empty")
	ErrMetadataNotText  = errors.New("its metadata, or a tag, is not valid UTF-8")
	ErrTagTwice         = errors.New("it has a tag twice, or its tags are not in ascending order")
	ErrTimeNegative     = errors.New("its time is before 1970")
)

// Check returns an error if the metadata can't be stored. ErrMetadataTooLarge means that nothing
// else is wrong: other programs may store more, and a copy accepts it.
func (m *Metadata) Check() error {
	size := 0
	for key, value := range m.Values {
		if key == "" {
			return ErrMetadataEmpty
		}
		if !IsUTF8(key, value) {
			return ErrMetadataNotText
		}
		size += len(key) + len(value)
	}
	tags := 0
	for i, tag := range m.Tags {
		switch {
		case tag == "":
			return ErrMetadataEmpty
		case !IsUTF8(tag):
			return ErrMetadataNotText
		case i > 0 && tag <= m.Tags[i-1]:
			return ErrTagTwice
		}
		tags += len(tag)
	}
	switch {
	case m.Time < 0:
		return ErrTimeNegative
	case max(size, tags) > MaxMetadataBytes:
		return ErrMetadataTooLarge
	}
	return nil
}

// put sets the attributes of an item.
func (m *Metadata) put(item Attributes) {
	if m.Time != 0 {
		item[AttrTime] = number(m.Time)
	}
	if len(m.Values) > 0 {
		values := make(Attributes, len(m.Values))
		for key, value := range m.Values {
			values[key] = &types.AttributeValueMemberS{Value: value}
		}
		item[AttrMeta] = &types.AttributeValueMemberM{Value: values}
	}
	if len(m.Tags) > 0 {
		item[AttrTags] = &types.AttributeValueMemberSS{Value: m.Tags}
	}
}

// metadata decodes the attributes of an item. The result shares no memory with the item. An
// attribute of another form does not belong to this project, and is ignored: programs on the JVM
// may add attributes with these names to the items.
func (r *reader) metadata() Metadata {
	var m Metadata
	if v, ok := r.item.Get(AttrTime); ok {
		if n, ok := v.(*types.AttributeValueMemberN); ok {
			if t, err := strconv.ParseInt(n.Value, 10, 64); err == nil && t > 0 {
				m.Time = t
			}
		}
	}
	if v, ok := r.item.Get(AttrMeta); ok {
		m.Values = texts(v)
	}
	if v, ok := r.item.Get(AttrTags); ok {
		if tags, ok := v.(*types.AttributeValueMemberSS); ok && len(tags.Value) > 0 {
			m.Tags = slices.Sorted(slices.Values(tags.Value))
		}
	}
	return m
}

// texts returns the entries of a map of strings, or nil if the value is empty or not such a map.
func texts(v types.AttributeValue) map[string]string {
	stored, ok := v.(*types.AttributeValueMemberM)
	if !ok || len(stored.Value) == 0 {
		return nil
	}
	values := make(map[string]string, len(stored.Value))
	for key, value := range stored.Value {
		text, ok := value.(*types.AttributeValueMemberS)
		if !ok {
			return nil
		}
		values[key] = text.Value
	}
	return values
}

// TimeOf returns the time of an event in UTC, or the zero Time for 0.
func TimeOf(microseconds int64) time.Time {
	if microseconds == 0 {
		return time.Time{}
	}
	return time.UnixMicro(microseconds).UTC()
}

// Microseconds returns the stored form of the time of an event, or 0 for the zero Time.
func Microseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
