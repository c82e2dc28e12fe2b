package stream

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// attrProgress is the progress of a lease, with the beat of the write that has stored it: a process
// of an earlier version keeps the attribute as it is, so another beat means that it is not known.
const attrProgress = "progress"

// progress tells the projections of a group apart, which have one lease and one checkpoint for a
// shard: the checkpoint waits for the slowest.
type progress struct {
	// at is up to when the projections that are not in late have handled the records of the shard,
	// in seconds since 1970.
	at int64
	// late has that of the projections that have not handled all records that were received, by the
	// names of the group and the projection.
	late map[string]int64
}

// of returns up to when a projection has handled the records.
func (p *progress) of(projection string) int64 {
	if at, is := p.late[projection]; is {
		return at
	}
	return p.at
}

func (p *progress) encode(beat int64) types.AttributeValue {
	late := dynamo.Attributes{}
	for name, at := range p.late {
		late[name] = engine.Number(at)
	}
	return &types.AttributeValueMemberM{Value: dynamo.Attributes{
		"beat": engine.Number(beat), "at": engine.Number(p.at), "late": &types.AttributeValueMemberM{Value: late},
	}}
}

// decodeProgress returns the progress that was stored with a beat, nil if it is of another one.
// Nothing but what operators are shown depends on it, so a damaged one is none.
func decodeProgress(v types.AttributeValue, beat int64) *progress {
	m, _ := v.(*types.AttributeValueMemberM)
	if m == nil {
		return nil
	}
	late, _ := m.Value["late"].(*types.AttributeValueMemberM)
	at, ok := seconds(m.Value["at"])
	if of, is := seconds(m.Value["beat"]); !ok || !is || of != beat || late == nil {
		return nil
	}
	p := &progress{at: at, late: make(map[string]int64, len(late.Value))}
	for name, v := range late.Value {
		if p.late[name], ok = seconds(v); !ok {
			return nil
		}
	}
	return p
}

func seconds(v types.AttributeValue) (int64, bool) {
	n, _ := v.(*types.AttributeValueMemberN)
	if n == nil {
		return 0, false
	}
	at, err := strconv.ParseInt(n.Value, 10, 64)
	return at, err == nil && at >= 0
}

// progress returns the progress of the projections, nil if there is only one. The caller holds the
// lock.
func (r *reader) progress() *progress {
	if len(r.Group.Members) < 2 || r.lease.shard == sweepLease {
		return nil
	}
	p := &progress{at: r.lease.at, late: map[string]int64{}}
	if len(r.pages) == 0 && !r.tip.IsZero() {
		p.at = max(p.at, r.tip.Unix())
	}
	for _, page := range r.pages {
		for _, of := range r.Group.Members {
			if _, known := p.late[of.Name]; page.waits[of] > 0 && !known {
				p.late[of.Name] = p.at
			}
		}
		p.at = max(p.at, page.created.Unix())
	}
	if len(r.pages) > 0 && r.tip.Unix() > p.at && r.tip.After(r.pages[len(r.pages)-1].created) {
		p.at = r.tip.Unix()
	}
	return p
}
