// Package engine runs the projections of a group.
//
// A [Source] triggers persistence ids. A [Schedule] has a task for each projection and each
// persistence id that is triggered. A worker executes the task as a [Run]: it reads the [Row],
// finds the [Step] values that follow from the journal, and lets the [Effect] of the projection
// apply them. The [OffsetStore] of the projection has the offset, if it is not in the row.
//
// The public packages define projections by a [Kind] of their own. They convert the errors, lags
// and counts of this package to their public forms.
package engine
