// Package doctor checks whether a journal's tables, permissions, clock and projections are as a
// service needs them. It changes nothing: probes of permissions to write have conditions that
// can't hold.
//
//	for _, c := range doctor.Run(ctx, config, doctor.Options{}) {
//		fmt.Println(c.Status, c.Name, c.Found, c.Fix)
//	}
package doctor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// Role is the kind of a program whose permissions and tables are checked.
type Role string

// The roles. The policies of docs/aws.md have the permissions of the first two.
const (
	// RoleService writes and reads events.
	RoleService Role = "service"
	// RoleProjections runs groups of projections that read the stream.
	RoleProjections Role = "projections"
	// RoleReader only reads events and snapshots.
	RoleReader Role = "reader"
)

// Status is the result of a check.
type Status string

// The results of checks, the most serious one first.
const (
	// StatusError means that the program does not work, or that data is at risk.
	StatusError Status = "error"
	// StatusWarn means that the program works, but something is unusual or unprotected.
	StatusWarn Status = "warn"
	// StatusUnknown means that the check could not be made: see Check.Needs.
	StatusUnknown Status = "unknown"
	// StatusOK means that nothing is wrong.
	StatusOK Status = "ok"
)

// order is the order of the results.
var order = []Status{StatusError, StatusWarn, StatusUnknown, StatusOK}

// Check is the result of a check.
type Check struct {
	// Name is the stable name of the check, such as ttl.journal.
	Name   string
	Status Status
	// Found is the finding. Want is the wanted state, Fix says how to reach it, and Docs is a page
	// about it, relative to the folder docs. Want, Fix and Docs are empty if nothing is wrong.
	Found, Want, Fix, Docs string
	// Needs is the permission that the check lacks, such as dynamodb:DescribeTable. It is empty
	// unless the status is StatusUnknown.
	Needs string
}

// Options configure Run.
type Options struct {
	// Roles are the kinds of programs that use the credentials. Defaults to RoleService.
	Roles []Role
	// Regions are other Regions in which the tables are looked up if this Region does not have
	// them.
	Regions []string
}

// timeout limits the requests of a check.
const timeout = 5 * time.Second

// Run makes all checks, in parallel, and returns their results: the most serious ones first, then
// sorted by name. A check whose requests take longer than 5 seconds is unknown. Run uses at most
// 150 read units, and 6 write units for a service or 12 with projections.
func Run(ctx context.Context, config dynajournal.Config, opts Options) []Check {
	if len(opts.Roles) == 0 {
		opts.Roles = []Role{RoleService}
	}
	e := &examination{config: config, opts: opts}
	all := e.run(ctx)
	slices.SortStableFunc(all, func(a, b Check) int {
		return cmp.Or(slices.Index(order, a.Status)-slices.Index(order, b.Status), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// examination is a call of Run.
type examination struct {
	config  dynajournal.Config
	opts    Options
	client  *dynamodb.Client
	streams *dynamodbstreams.Client
	names   tableNames
	// tables has the descriptions of the tables that exist, by name.
	tables map[string]dynajournal.Table
	// header is the header of the journal, or nil, and kind its kind.
	header *layout.Header
	kind   string
}

// tableNames are the names of the tables.
type tableNames struct{ journal, snapshots, projections string }

// has reports whether one of the roles is checked.
func (e *examination) has(roles ...Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return slices.Contains(e.opts.Roles, r) })
}

func (e *examination) run(ctx context.Context) []Check {
	journal := cmp.Or(e.config.JournalTable, dynajournal.DefaultJournalTable)
	e.names = tableNames{
		journal, cmp.Or(e.config.SnapshotTable, dynajournal.DefaultSnapshotTable), provision.ProjectionsTable(journal),
	}
	if e.names.journal == e.names.snapshots {
		return []Check{{
			Name: "config", Status: StatusError, Found: "the journal and the snapshots have the same table " + journal,
			Want: "two tables", Fix: "correct the name of a table",
		}}
	}
	e.connect()
	e.tables = map[string]dynajournal.Table{}
	described := e.describe(ctx)
	if _, ok := e.tables[e.names.journal]; !ok {
		return described // nothing else can be checked
	}
	e.readHeader(ctx)
	checks := []func(context.Context) []Check{e.journal, e.permissions}
	if e.has(RoleProjections) {
		checks = append(checks, e.stream, e.projections)
	}
	results := make(chan []Check)
	for _, check := range checks {
		go func() { results <- check(ctx) }()
	}
	all := append(described, e.tableChecks()...)
	for range checks {
		all = append(all, <-results...)
	}
	return all
}

// connect makes the clients of the requests that a journal does not send.
func (e *examination) connect() {
	c := e.config.AWS.Copy()
	if e.config.Endpoint != "" {
		c.BaseEndpoint = aws.String(e.config.Endpoint)
	}
	c.Region = cmp.Or(c.Region, "us-east-1") // as for a journal at an endpoint
	if id, secret := e.config.AccessKeyID, e.config.SecretAccessKey; id != "" && secret != "" {
		c.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}, nil
		})
	}
	e.client, e.streams = dynamodb.NewFromConfig(c), dynamodbstreams.NewFromConfig(c)
}

// keys returns the keys of the journal's items.
func (e *examination) keys() layout.Keys {
	return layout.Keys{Journal: cmp.Or(e.config.JournalName, dynajournal.DefaultJournalName)}
}

// readHeader reads the header of the journal. Without it, the checks that need it are not made; the
// check of the header says why.
func (e *examination) readHeader(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := e.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &e.names.journal, Key: e.keys().Header().Attributes()})
	if err != nil || out.Item == nil {
		return
	}
	if h, err := e.keys().DecodeHeader(out.Item); err == nil {
		e.header, e.kind = &h, h.Kind
	}
}
