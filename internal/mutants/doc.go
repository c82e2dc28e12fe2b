// Package mutants removes safeguards from the code, one at a time, to show that a test fails
// without each of them. The code itself has no switch: the folder table lists the mutants as text,
// and a build overlay (go build -overlay) puts all of them into one build. A mutant is chosen when
// a program runs, by the environment variable Variable.
//
// A file of the table has mutants and rows. A mutant has a name, the rule that it breaks, and the
// tests that must fail:
//
//	mutant GapReread
//		A reader reads a gap once more before it accepts it.
//		killer internal/protocol ^TestReplay_GapFilledAfterPageRead$
//
// A row says where the code changes: in a file, and in one of its functions, which is T.f for a
// method of T. Lines that begin with - are the current code, lines that begin with + replace them,
// and lines that begin with a space are context. The current code, including the context, must
// occur exactly once in the function. White space at the beginning and the end of lines is ignored.
// mutant("Name") is true when the mutant is chosen.
//
//	row internal/protocol/gap.go replay.closeGap
//	-	if hi < lo {
//	+	if hi < lo || mutant("GapReread") {
//
// A row without a function applies to the whole file. A row can begin with lines that import
// packages:
//
//	import "slices"
//
// Two mutants of the same lines need one row. All rows apply to the current code, not to the result
// of other rows.
//
// A new mutant is a new entry in the table. If the code of a row has changed, TestRowsApply fails
// and reports the place: rewrite the row so that it still breaks the rule.
//
// The overlay must not be used together with -cover: the cover tool reads the files on disk, so the
// mutants are missing without an error.
package mutants
