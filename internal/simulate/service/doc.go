// Package service runs random histories of a whole service, with random faults: several processes
// have entities with snapshots, whose events they delete, and durable states, large events whose
// payloads are outside, and projections of all kinds: one at least once, one in transactions, one
// that indexes tags, and one that sends messages. Processes are killed, and suspended for longer
// than a fence window. Their clocks are wrong. Requests fail, and arrive late.
//
// A history has two parts. After each part, every acknowledged operation must exist once, and all
// projections must agree with the journal: see oracle_test.go. Then the journal is copied, and the
// copy must be equal. Finally some of the tables are replaced with older copies, as an operator
// restores them. Each view must then fail or be right: see restore_test.go.
//
// The simulations of packages entities, projections and states each check one of these in more
// detail.
//
// The package contains only tests.
package service
