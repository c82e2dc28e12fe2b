// Package mutants takes safeguards out of the code, one at a time, to show that a test needs each.
// The code itself has no switch: the folder table lists the mutants as text, and a build overlay
// (go build -overlay) puts all of them into one build. A mutant is chosen when a program runs, by
// the environment variable Variable.
//
// A file of the table has mutants and rows. A mutant has a name, the rule that it breaks, and the
// tests that must fail:
//
//	mutant GapReread
//		A reader reads a gap once more before it accepts it.
//		killer internal/protocol ^TestGapIsReadAgain$
//
// A row says where the code changes: in a file, and in a function of it, which is T.f for a method
// of T. Lines that begin with - are the code as it is, lines that begin with + what takes their
// place, and lines that begin with a space stay. Other lines are before or after them. The code as
// it is must occur exactly once in the function; white space at the beginning of its lines does not
// count. mutant("Name") is true when the mutant is chosen.
//
//	row internal/protocol/gap.go replay.closeGap
//	-	if hi < lo {
//	+	if hi < lo || mutant("GapReread") {
//
// A row without a function looks in the whole file. A row can begin with lines that import what it
// needs:
//
//	import "slices"
//
// Two mutants of one place are one row. Rows apply to the code as it is, not one after the other.
//
// A new mutant is a new entry of the table. A row whose code has changed fails in TestRowsApply,
// which says where to look: write the row anew, so that it still breaks the rule.
//
// The overlay must not be used together with -cover: the cover tool reads the files of the disk, so
// the mutants are missing without an error.
package mutants
