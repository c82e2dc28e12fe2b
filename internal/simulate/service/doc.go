// Package service runs random histories of a whole service, with random faults: several processes
// have entities with snapshots, whose events they delete, and durable states, large events whose
// payloads are outside, and projections of all kinds: one at least once, one in transactions, one
// that indexes tags, and one that sends messages. Processes are killed and stand still for longer
// than a fence window, their clocks are wrong, requests fail, and land late.
//
// A history has two parts. After each part, every acknowledged operation must be there once, and
// all projections must agree with the journal: see oracle_test.go. Then the journal is copied, and
// the copy must be equal. At last some of the tables are replaced by older copies of themselves, as
// an operator restores them. Each view must then fail or be right: see restore_test.go.
//
// The simulations of packages entities, projections and states each judge one of these more
// closely.
//
// The package contains only tests.
package service
