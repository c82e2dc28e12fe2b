package embedded

import (
	"slices"
	"strconv"
)

// The engine stores and returns the replicas of a table in other Regions and their consistency. It
// copies nothing. As in the service, a strongly consistent table can't have time to live,
// transactions and local indexes. The number of its Regions is not checked, and witnesses
// (GlobalTableWitnessUpdates) are ignored. The service's messages for these errors are not known.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_HowItWorks.html

const (
	consistencyEventual = "EVENTUAL"
	consistencyStrong   = "STRONG"
)

// replication has the other Regions of a table, and their consistency. Both are empty for a table
// without replicas.
type replication struct {
	Regions     []string `json:"regions,omitempty"`
	Consistency string   `json:"consistency,omitempty"`
}

func (r replication) strong() bool { return r.Consistency == consistencyStrong }

// describe adds the replicas to the description of a table.
func (r replication) describe(description object) {
	if len(r.Regions) == 0 {
		return
	}
	replicas := make([]object, 0, len(r.Regions))
	for _, region := range r.Regions {
		replicas = append(replicas, object{"RegionName": region, "ReplicaStatus": statusActive})
	}
	description["Replicas"] = replicas
	description["MultiRegionConsistency"] = r.Consistency
	description["GlobalTableVersion"] = "2019.11.21"
}

// replicaUpdate is an element of ReplicaUpdates. Members that are not given are nil.
type replicaUpdate struct {
	create, remove *replicaParameter
}

type replicaParameter struct{ region *string }

// replicationParameter has the changes of replicas in a request.
type replicationParameter struct {
	updates     []replicaUpdate
	consistency *string
}

// readMember reads a member of the request, and reports whether it is about replicas.
func (p *replicationParameter) readMember(name string, r *decoder) bool {
	switch name {
	case "ReplicaUpdates":
		r.list(func() { p.updates = append(p.updates, r.replicaUpdate()) })
	case "MultiRegionConsistency":
		p.consistency = r.text()
	default:
		return false
	}
	return true
}

func (r *decoder) replicaUpdate() replicaUpdate {
	var u replicaUpdate
	read := func(name string, to **replicaParameter) {
		p := &replicaParameter{}
		given := r.structure(name, func(name string) {
			if name == "RegionName" {
				p.region = r.text()
				return
			}
			r.skip()
		})
		if given {
			*to = p
		}
	}
	r.structure("ReplicationGroupUpdate", func(name string) {
		switch name {
		case "Create":
			read("CreateReplicationGroupMemberAction", &u.create)
		case "Delete":
			read("DeleteReplicationGroupMemberAction", &u.remove)
		default:
			r.skip()
		}
	})
	return u
}

// given reports whether the request changes replicas.
func (p *replicationParameter) given() bool { return len(p.updates) > 0 || p.consistency != nil }

func (c *constraints) replication(p replicationParameter) {
	c.oneOf(p.consistency, "multiRegionConsistency", consistencyEventual, consistencyStrong)
	for i, u := range p.updates {
		member := "replicaUpdates." + strconv.Itoa(i+1) + ".member."
		if u.create != nil {
			c.required(has(u.create.region), member+"create.regionName")
		}
		if u.remove != nil {
			c.required(has(u.remove.region), member+"delete.regionName")
		}
	}
}

// apply changes the replicas of a table. The consistency is given when a global table's replicas
// are created, and never changes afterwards.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
func (p *replicationParameter) apply(s *schema) error {
	next := replication{Regions: slices.Clone(s.Replication.Regions), Consistency: s.Replication.Consistency}
	created := false
	for _, u := range p.updates {
		switch {
		case u.create != nil && slices.Contains(next.Regions, *u.create.region):
			return invalid(invalidParameters+"Replica already exists in region %s", *u.create.region)
		case u.create != nil:
			created = true
			next.Regions = append(next.Regions, *u.create.region)
		case u.remove != nil:
			at := slices.Index(next.Regions, *u.remove.region)
			if at < 0 {
				return invalid(invalidParameters+"There is no replica in region %s", *u.remove.region)
			}
			next.Regions = slices.Delete(next.Regions, at, at+1)
		}
	}
	slices.Sort(next.Regions)
	switch {
	case p.consistency != nil && !created:
		return invalid(invalidParameters + "MultiRegionConsistency can only be specified when replicas are created")
	case len(next.Regions) == 0:
		next.Consistency = ""
	case next.Consistency == "":
		next.Consistency = or(p.consistency, consistencyEventual)
	case p.consistency != nil && *p.consistency != next.Consistency:
		return invalid(invalidParameters + "MultiRegionConsistency of a global table can't be changed")
	}
	if next.strong() && !s.Replication.strong() {
		if err := s.canBeStrong(); err != nil {
			return err
		}
	}
	s.Replication = next
	return nil
}

// canBeStrong checks that a table can become strongly consistent.
func (s *schema) canBeStrong() error {
	const strong = invalidParameters + "A table with multi-Region strong consistency "
	switch {
	case s.Items > 0:
		return invalid(strong + "must be empty when it gets its replicas")
	case s.TimeToLive != "":
		return invalid(strong + "can't have time to live")
	case slices.ContainsFunc(s.Indexes, func(i *index) bool { return i.Local }):
		return invalid(strong + "can't have local secondary indexes")
	}
	return nil
}

// sharedByTransaction is sharedAll for a transaction. It refuses strongly consistent tables.
func (e *Engine) sharedByTransaction(names []string) (map[string]*table, func(), error) {
	tables, release, err := e.sharedAll(names)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range tables {
		if t.Replication.strong() {
			release()
			return nil, nil, invalid("Transactions are not supported on a table with multi-Region strong consistency")
		}
	}
	return tables, release, nil
}
