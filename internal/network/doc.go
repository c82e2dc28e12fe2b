// Package network is a proxy that makes a service on this machine look as far away as a remote one:
// each request takes longer, by times with a long tail, over TLS, on connections that the service
// closes after a while. It is for measurements and is no part of a journal.
package network
