// Package persistentpb has the wire messages of Akka and Pekko persistence.
//
// persistent.pb.go is generated from persistent.proto; regenerate it with
// protoc 3.21.12 on the path by
//
//	go generate ./internal/persistentpb
package persistentpb

//go:generate sh generate.sh
