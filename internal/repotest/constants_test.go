package repotest

import (
	"slices"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/verify"
)

// The public constants are literals, so that their documentation shows their values.
func TestConstantsEqualTheInternalOnes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ got, want any }{
		"DefaultFenceWindow":    {dynajournal.DefaultFenceWindow, layout.DefaultFenceWindow * time.Second},
		"DefaultIDsIndexName":   {dynajournal.DefaultIDsIndexName, layout.SharedIDsIndex},
		"MaxMetadataBytes":      {dynajournal.MaxMetadataBytes, layout.MaxMetadataBytes},
		"DefaultSequenceShards": {dynajournal.DefaultSequenceShards, layout.DefaultShards},
		"MaxSequenceNumber":     {dynajournal.MaxSequenceNumber, int64(layout.MaxSequenceNumber)},
		"MinFenceWindow":        {dynajournal.MinFenceWindow, layout.MinFenceWindow * time.Second},

		"RecordLowMark": {history.Kind(dynajournal.RecordLowMark), history.LowMark},
		"RecordEvent":   {history.Kind(dynajournal.RecordEvent), history.Event},
		"RecordClosed":  {history.Kind(dynajournal.RecordClosed), history.Closed},
		"RecordDeleted": {history.Kind(dynajournal.RecordDeleted), history.Deleted},

		"OptionRemoveOrphans":    {verify.Option(dynajournal.OptionRemoveOrphans), verify.RemoveOrphans},
		"OptionRemoveDeleted":    {verify.Option(dynajournal.OptionRemoveDeleted), verify.RemoveDeleted},
		"OptionRemoveIncomplete": {verify.Option(dynajournal.OptionRemoveIncomplete), verify.RemoveIncomplete},
		"OptionRestoreHighMark":  {verify.Option(dynajournal.OptionRestoreHighMark), verify.RestoreHighMark},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, the internal constant %v", name, c.got, c.want)
		}
	}
	findings := []dynajournal.FindingKind{
		dynajournal.FindingMissingHighMark, dynajournal.FindingIncompleteBatch, dynajournal.FindingHole,
		dynajournal.FindingOrphanBelowLowMark, dynajournal.FindingBelowJVMLowMark, dynajournal.FindingForeignWriter,
		dynajournal.FindingUndecodable, dynajournal.FindingUnknownItem, dynajournal.FindingMarkBeyondEvents,
		dynajournal.FindingWrongShards, dynajournal.FindingSnapshotBeyondJournal,
		dynajournal.FindingSnapshotMissing, dynajournal.FindingDamagedSnapshot,
		dynajournal.FindingExpiredTombstone, dynajournal.FindingNotInIDsIndex, dynajournal.FindingUnchecked,
	}
	var kinds []dynajournal.FindingKind
	for _, kind := range verify.Kinds() {
		kinds = append(kinds, dynajournal.FindingKind(kind))
	}
	if !slices.Equal(findings, kinds) {
		t.Errorf("the kinds of findings are %v, the internal ones %v", findings, kinds)
	}
}
