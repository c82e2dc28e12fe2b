package engine

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// The age of a hole counts up to the start of the read that found it: the number may have been
// stored since.
func TestHoleAge_CountsToStartOfRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		key, all := taskKey{name: "group/all", pid: "a"}, newHoles()
		h := hole{Span: core.Span{First: 2, Last: 3}, writer: "w"}
		check := func(what string, h hole, stored []hole, start time.Time, want time.Duration) {
			t.Helper()
			if got := all.age(key, &h, stored, start); got != want {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		first := time.Now()
		check("first", h, nil, first, 0)
		all.see(key, []hole{h}, nil)
		time.Sleep(time.Minute)
		start := time.Now()
		time.Sleep(time.Hour)
		check("a long reading", h, nil, start, time.Minute)
		check("a part of it", hole{Span: core.Span{First: 3, Last: 3}, writer: "w"}, nil, start, time.Minute)
		check("more than it", hole{Span: core.Span{First: 2, Last: 4}, writer: "w"}, nil, start, 0)
		check("of another life", hole{Span: h.Span, writer: "w2"}, nil, start, 0)
		check("the row knows it longer", h, []hole{{Span: h.Span, writer: "w", age: 2 * time.Minute}}, start, 2*time.Minute)
		check("the row knows another", h, []hole{{Span: h.Span, writer: "w2", age: 2 * time.Minute}}, start, time.Minute)
		all.see(key, nil, nil)
		check("forgotten", h, nil, time.Now(), 0)
	})
}

// Holes of a row are decoded as they were stored. An attribute that can't be a hole is an error.
func TestHoles_StoredForm(t *testing.T) {
	t.Parallel()
	stored := []hole{{core.Span{First: 1, Last: 1}, "w", time.Second, time.UnixMilli(1_000)}, {Span: core.Span{First: 5, Last: 9}}}
	d := Decoder{Item: dynamo.Attributes{attrHoles: encodeHoles(stored)}}
	if got := d.holes(attrHoles); d.Err != nil || len(got) != 2 || got[0] != stored[0] || got[1] != stored[1] {
		t.Errorf("%v, %v", got, d.Err)
	}
	m := func(attributes dynamo.Attributes) types.AttributeValue {
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberM{Value: attributes}}}
	}
	for name, value := range map[string]types.AttributeValue{
		"no list":   Text("1"),
		"no map":    &types.AttributeValueMemberL{Value: []types.AttributeValue{Text("1")}},
		"no number": m(dynamo.Attributes{attrFirst: Text("1"), attrLast: Number(1)}),
		"nothing":   m(nil),
		"zero":      m(dynamo.Attributes{attrFirst: Number(0), attrLast: Number(1)}),
		"backwards": m(dynamo.Attributes{attrFirst: Number(2), attrLast: Number(1)}),
		"an age":    m(dynamo.Attributes{attrFirst: Number(1), attrLast: Number(1), attrAge: Number(-1)}),
	} {
		d := Decoder{Item: dynamo.Attributes{attrHoles: value}}
		if got := d.holes(attrHoles); d.Err == nil || got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	d = Decoder{Item: dynamo.Attributes{attrHoles: m(dynamo.Attributes{
		attrFirst: Number(1), attrLast: Number(1), attrAge: Number(math.MaxInt64),
	})}}
	if got := d.holes(attrHoles); d.Err != nil || got[0].age <= 0 {
		t.Errorf("the longest age: %v, %v", got, d.Err)
	}
}
