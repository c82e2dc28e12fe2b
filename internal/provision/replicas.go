package provision

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Replication describes the replication of a table to other Regions.
type Replication struct {
	// Regions has the other Regions, sorted. It is empty if the table has no replicas.
	Regions []string
	// Consistency is DynamoDB's name of the consistency, EVENTUAL or STRONG. It is empty if the
	// table has no replicas.
	Consistency string
}

// Strong reports whether all Regions read and write the same state.
func (r Replication) Strong() bool {
	return r.Consistency == string(types.MultiRegionConsistencyStrong)
}

// replicationOf returns the replication of a table with the description d.
func replicationOf(d *types.TableDescription) Replication {
	if len(d.Replicas) == 0 {
		return Replication{}
	}
	// "If you don't specify this field, the global table consistency mode defaults to EVENTUAL."
	// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
	r := Replication{Consistency: string(types.MultiRegionConsistencyEventual)}
	if d.MultiRegionConsistency != "" {
		r.Consistency = string(d.MultiRegionConsistency)
	}
	for i := range d.Replicas {
		r.Regions = append(r.Regions, aws.ToString(d.Replicas[i].RegionName))
	}
	slices.Sort(r.Regions)
	return r
}
