// Package protocol reads and writes the journal of one persistence id. It decides which stored
// items count, closes gaps before it writes anything after them, and puts events, marks and
// tombstones in a safe order.
//
// The rules, each with the file that implements it:
//   - A batch counts if all its members are stored, even if a window or the low mark cuts
//     it (batch.go, replay_batch.go).
//   - An irregularity is judged only by a low mark that was read after it (low_mark.go).
//   - A recovery seals every missing number before it hands out an event after it (gap.go).
//   - The high mark is a hint. Reading continues after a partition that ends with its last
//     number, and goes back from an empty one (partition.go, highest.go).
package protocol
