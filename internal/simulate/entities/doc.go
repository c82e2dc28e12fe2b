// Package entities runs random histories on the entities of package entity, with random faults:
// several processes with the same entities, commands that share writes, that are repeated with
// their ids, fail, panic, or are left by their callers, views, snapshots that delete events, drops,
// purges, processes that crash or are closed and start again, machines that sleep, wrong clocks,
// and requests and responses that are lost or late.
//
// The oracle reads the journal without faults. Each event names the command, its run, and the state
// that it was decided on, so the stored events show on which state each command was decided. In
// addition porcupine checks that the results of each entity, a register and a counter, are
// linearizable.
//
// The package contains only tests. A history is drawn by rapid, so a failure shrinks.
package entities
