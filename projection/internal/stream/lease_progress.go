package stream

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// attrProgress is the progress of a lease, with the beat of the write that has stored it. A process
// of an earlier version does not change the attribute, so with another beat the progress is
// unknown.
const attrProgress = "progress"

// progress records how far each projection of a group has handled a shard. The group has only one
// lease and one checkpoint for the shard, and the checkpoint waits for the slowest projection.
type progress struct {
	// at is the time up to which the projections that are not in late have handled the records of
	// the shard, in seconds since 1970.
	at int64
	// late has that time for each projection that has not handled all received records, by
	// group/projection.
	late map[string]int64
}

// of returns the time up to which a projection has handled the records.
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

// decodeProgress returns the progress that was stored with a beat. It returns nil for another beat,
// and for a damaged progress: only the output for operators depends on it.
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

// progress returns the progress of the projections, or nil if there is only one projection. The
// caller holds the lock.
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
