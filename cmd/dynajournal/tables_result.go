package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal"
)

// tableResult is a table.
type tableResult struct {
	Table      string   `json:"table"`
	Status     string   `json:"status"`
	Kind       string   `json:"kind"`
	Shards     int      `json:"shards"`
	Keys       []string `json:"keys"`
	Indexes    []string `json:"indexes"`
	TTL        string   `json:"ttl"`
	TTLStatus  string   `json:"ttl_status"`
	Billing    string   `json:"billing"`
	ReadUnits  int64    `json:"read_units"`
	WriteUnits int64    `json:"write_units"`
	Stream     string   `json:"stream"`
	// FenceWindow is in seconds.
	FenceWindow int64 `json:"fence_window"`
	// FormatVersion is the version of the journal's stored format, or 0 without a header.
	FormatVersion int `json:"format_version"`
	// Items and Bytes are approximate: DynamoDB counts them about every six hours.
	Items               int64  `json:"items"`
	Bytes               int64  `json:"bytes"`
	DeletionProtection  bool   `json:"deletion_protection"`
	PointInTimeRecovery string `json:"point_in_time_recovery"`
	Class               string `json:"class"`
	Encryption          string `json:"encryption"`
	// Replicas and MultiRegionConsistency are absent if the table has no replicas.
	Replicas               []string `json:"replicas,omitempty"`
	MultiRegionConsistency string   `json:"multi_region_consistency,omitempty"`

	// notReady has the indexes that are not active, with their status.
	notReady []string
}

// active is DynamoDB's status of a table or an index that is ready.
const active = "ACTIVE"

// The values of --billing.
const (
	billingOnDemand    = "on-demand"
	billingProvisioned = "provisioned"
)

func newTableResult(t dynajournal.Table) tableResult {
	r := tableResult{
		Table: t.Name, Status: t.Status, Kind: t.Kind, Shards: t.Shards,
		Keys: []string{}, Indexes: []string{},
		TTL: t.TTL, TTLStatus: t.TTLStatus,
		Billing: billingOnDemand, ReadUnits: t.ReadUnits, WriteUnits: t.WriteUnits,
		Stream: t.Stream, FenceWindow: int64(t.FenceWindow / time.Second), FormatVersion: t.Version,
		Items: t.Items, Bytes: t.Bytes, DeletionProtection: t.DeletionProtection,
		PointInTimeRecovery: t.PointInTimeRecovery, Class: t.Class, Encryption: t.Encryption,
		Replicas: t.Replicas, MultiRegionConsistency: t.MultiRegionConsistency,
	}
	for _, k := range t.Keys {
		r.Keys = append(r.Keys, keyText(k))
	}
	for _, i := range t.Indexes {
		r.Indexes = append(r.Indexes, i.Name)
		if i.Status != "" && i.Status != active {
			r.notReady = append(r.notReady, i.Name+" is "+i.Status)
		}
	}
	if t.WriteUnits > 0 {
		r.Billing = billingProvisioned
	}
	return r
}

// bareTable returns a table of which only the name and the status are known.
func bareTable(name, status string) tableResult {
	return tableResult{Table: name, Status: status, Keys: []string{}, Indexes: []string{}}
}

func keyText(k dynajournal.KeyAttribute) string { return printable(k.Name) + " (" + k.Type + ")" }

func (r tableResult) text() string {
	parts := []string{r.Status}
	if r.Kind != "" {
		parts = append(parts, r.Kind, fmt.Sprintf("%d shards", r.Shards))
	}
	if len(r.Keys) > 0 { // the result is not a bareTable
		parts = append(parts, r.described()...)
	}
	return printable(r.Table) + ": " + strings.Join(parts, ", ")
}

// described returns the parts of the text for a table that was described.
func (r tableResult) described() []string {
	parts := []string{"key " + strings.Join(r.Keys, " and ")}
	if len(r.Indexes) > 0 {
		parts = append(parts, "indexes "+strings.Join(r.Indexes, ", "))
	}
	switch {
	case r.TTL != "":
		parts = append(parts, fmt.Sprintf("items expire by %s (%s)", printable(r.TTL), r.TTLStatus))
	case r.TTLStatus != "":
		parts = append(parts, fmt.Sprintf("items do not expire (%s)", r.TTLStatus))
	}
	if r.FenceWindow > 0 {
		parts = append(parts, fmt.Sprintf("fence window %v", time.Duration(r.FenceWindow)*time.Second))
	}
	if r.FormatVersion > 0 {
		parts = append(parts, fmt.Sprintf("format version %d", r.FormatVersion))
	}
	if r.Billing == billingProvisioned {
		parts = append(parts, fmt.Sprintf("provisioned: %d read and %d write units", r.ReadUnits, r.WriteUnits))
	} else {
		parts = append(parts, "on demand")
	}
	if r.Stream != "" {
		parts = append(parts, "stream of "+r.Stream)
	}
	if len(r.Replicas) > 0 {
		parts = append(parts, fmt.Sprintf("replicas in %s (%s)", strings.Join(r.Replicas, ", "), r.MultiRegionConsistency))
	}
	parts = append(parts, r.notReady...)
	return append(parts, r.storageParts()...)
}

// storageParts returns the parts of the text about the stored data and its protection.
func (r tableResult) storageParts() []string {
	parts := []string{fmt.Sprintf("about %d items, %d bytes", r.Items, r.Bytes)}
	if r.DeletionProtection {
		parts = append(parts, "protected from deletion")
	} else {
		parts = append(parts, "not protected from deletion")
	}
	switch r.PointInTimeRecovery {
	case "":
		parts = append(parts, "point-in-time recovery not known")
	case "ENABLED":
		parts = append(parts, "point-in-time recovery on")
	default:
		parts = append(parts, "point-in-time recovery off")
	}
	if r.Class != "" {
		parts = append(parts, "class "+r.Class)
	}
	if r.Encryption != "" {
		parts = append(parts, "encrypted by "+r.Encryption)
	}
	return parts
}
