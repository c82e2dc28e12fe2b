// Package network is a proxy that makes a service on this machine look like a remote one: it delays
// each request, with a long tail of delays, uses TLS, and closes each connection after a while. It
// is for measurements, and is not part of a journal.
package network
