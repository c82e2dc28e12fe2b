// Package interop tests that Go and the real Pekko plug-in for DynamoDB read each other's tables.
// Its tests, with the build tag interop, build a Java program with Maven, start `dynajournal
// serve`, and let both sides work on the same journals:
//
//	go test -tags interop ./internal/interop/...
//
// docs/interop.md describes what follows for services.
package interop
