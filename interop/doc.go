// Package interop proves that Go and the real Pekko plug-in for DynamoDB understand each other's tables. Its tests, behind
// the build tag interop, build a Java program with Maven, start `dynajournal serve`, and let both sides work on the same
// journals:
//
//	go test -tags interop ./interop/...
//
// docs/interop.md says what follows from them for services.
package interop
