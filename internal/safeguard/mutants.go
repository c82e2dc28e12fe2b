//go:build mutants

package safeguard

import (
	"os"
	"slices"
)

// Variable is the environment variable that names the safeguard that is off.
const Variable = "DYNAJOURNAL_WITHOUT"

// Names are all safeguards.
var Names []string

var without = os.Getenv(Variable)

func init() {
	if without != "" && !slices.Contains(Names, without) {
		panic("there is no safeguard " + without)
	}
}

// on reports whether a safeguard is on, and adds it to Names.
func on(name string) bool {
	Names = append(Names, name)
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
	FenceRaises        = on("FenceRaises")
	Hold               = on("Hold")
	RenewMarks         = on("RenewMarks")
	RenewExisting      = on("RenewExisting")
	ExpiringReread     = on("ExpiringReread")
	StillLast          = on("StillLast")
	TakenOver          = on("TakenOver")
	PurgeLasts         = on("PurgeLasts")
	WrittenUnknown     = on("WrittenUnknown")
	PartEnds           = on("PartEnds")
	UnknownEnds        = on("UnknownEnds")
	LowMoved           = on("LowMoved")
	HighMarkMended     = on("HighMarkMended")
	OwnFence           = on("OwnFence")
	SecondLook         = on("SecondLook")
	CutWhole           = on("CutWhole")
	CutBefore          = on("CutBefore")
	HighestStays       = on("HighestStays")
	FenceMet           = on("FenceMet")
	Orphans            = on("Orphans")
	EraseLooks         = on("EraseLooks")
	HoldExpiry         = on("HoldExpiry")
	HoldVanished       = on("HoldVanished")
	RenewedBefore      = on("RenewedBefore")
	LowStampedBefore   = on("LowStampedBefore")
	SeenAfter          = on("SeenAfter")
	SeenCovers         = on("SeenCovers")
	CutJudged          = on("CutJudged")
	DeletedMeanwhile   = on("DeletedMeanwhile")
	SameBatch          = on("SameBatch")
	MembersOfBatch     = on("MembersOfBatch")
	HeadThere          = on("HeadThere")
	HeadCut            = on("HeadCut")
	HighestLooked      = on("HighestLooked")
	LookBack           = on("LookBack")
	SealMeets          = on("SealMeets")
	ReplacesSame       = on("ReplacesSame")
	StillExpired       = on("StillExpired")
	UnwrapUnchanged    = on("UnwrapUnchanged")
	FirstListed        = on("FirstListed")
	SealListed         = on("SealListed")
	LowMarkListed      = on("LowMarkListed")
	ListedOnce         = on("ListedOnce")
	KnownVersion       = on("KnownVersion")
	MaybeStays         = on("MaybeStays")
	MemberMaybeStays   = on("MemberMaybeStays")
	LostAmbiguous      = on("LostAmbiguous")
	Progress           = on("Progress")
	Checksum           = on("Checksum")
	TakenBack          = on("TakenBack")
	AnswerOfEach       = on("AnswerOfEach")
	OneOfEachID        = on("OneOfEachID")
	PartsFirst         = on("PartsFirst")
	SnapshotSum        = on("SnapshotSum")
	OwnParts           = on("OwnParts")
	OwnHead            = on("OwnHead")
	ReplacedMeanwhile  = on("ReplacedMeanwhile")
	HiddenHeads        = on("HiddenHeads")
	FreshAttempts      = on("FreshAttempts")
	FreshRemovals      = on("FreshRemovals")
	LateAnswer         = on("LateAnswer")
	YoungExpiry        = on("YoungExpiry")
	LatestClock        = on("LatestClock")
	ClockOff           = on("ClockOff")
	SleptUnsent        = on("SleptUnsent")
	SumDemanded        = on("SumDemanded")
	CapacityDemanded   = on("CapacityDemanded")
	CopyCompared       = on("CopyCompared")
	CopyUnchanged      = on("CopyUnchanged")
)
