//go:build mutants

package safeguard

import (
	"os"
	"slices"
)

// Variable is the environment variable that names the safeguard that is off.
const Variable = "DYNAJOURNAL_WITHOUT"

// Names are all safeguards.
var Names = []string{
	"Conditional", "ConditionalMembers", "Seal", "OwnItem", "LeftOvers", "TailChase", "GapReread", "LowReread", "Tombstones",
	"Cut", "MarksRise", "HighMark", "LowMarkFirst", "IdleLook",
	"DeletedSince", "Fence", "FenceRaises", "Hold", "RenewMarks", "RenewExisting", "ExpiringReread", "StillLast",
	"TakenOver", "PurgeLasts",
}

var without = os.Getenv(Variable)

func on(name string) bool {
	if !slices.Contains(Names, name) || without != "" && !slices.Contains(Names, without) {
		panic("there is no safeguard " + name + ", or none " + without)
	}
	return name != without
}

// The safeguards, as in the normal build.
var (
	Conditional        = on("Conditional")
	ConditionalMembers = on("ConditionalMembers")
	Seal               = on("Seal")
	OwnItem            = on("OwnItem")
	LeftOvers          = on("LeftOvers")
	TailChase          = on("TailChase")
	GapReread          = on("GapReread")
	LowReread          = on("LowReread")
	Tombstones         = on("Tombstones")
	Cut                = on("Cut")
	MarksRise          = on("MarksRise")
	HighMark           = on("HighMark")
	LowMarkFirst       = on("LowMarkFirst")
	IdleLook           = on("IdleLook")
	DeletedSince       = on("DeletedSince")
	Fence              = on("Fence")
	Hold               = on("Hold")
	FenceRaises        = on("FenceRaises")
	RenewExisting      = on("RenewExisting")
	RenewMarks         = on("RenewMarks")
	ExpiringReread     = on("ExpiringReread")
	StillLast          = on("StillLast")
	TakenOver          = on("TakenOver")
	PurgeLasts         = on("PurgeLasts")
)
