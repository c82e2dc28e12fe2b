// Package interop tests that Go and the real Pekko plug-in for DynamoDB read each other's tables.
// Its tests, with the build tag interop, build a Java program with Maven, start `dynajournal
// serve`, and let both sides use the same journals:
//
//	go test -tags interop ./internal/interop/...
//
// docs/jvm.md describes the consequences for services.
package interop
