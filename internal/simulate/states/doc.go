// Package states runs random histories on durable states of package entity, with random faults:
// several processes with the same states, commands that are repeated with their ids or left by
// their callers, views, purges, values in one item and in parts, processes that are killed at any
// request and start again, and requests and responses that are lost or late, even by more than the
// fence window.
//
// porcupine checks the results: each state is a register with a counter and a version.
//
// The package contains only tests.
package states
