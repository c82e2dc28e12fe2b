// Package protocol reads and writes the journal of one persistence id: it decides what of the
// stored items counts, closes gaps before anything is written behind them, and keeps the order in
// which events, marks and tombstones are put.
//
// The rules, each with the file that keeps it:
//   - A batch counts when all its members are stored, wherever a window or the low mark cuts it
//     (batch.go).
//   - What looks irregular is decided only on a low mark that was read after it (low_mark.go).
//   - A recovery seals every missing number before it hands out anything behind it (gap.go).
//   - The high mark is a hint: reading follows a partition that ends in its last number, and looks
//     back from an empty one (partition.go, highest.go).
package protocol
