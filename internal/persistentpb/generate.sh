#!/bin/sh
# Regenerates persistent.pb.go. Needs protoc 3.21.12 on the path; the Go plug-in
# is built here at the version of the protobuf module. protoc runs in the module's
# root so that the file is registered under a path of its own.
set -eu
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
GOBIN=$bin go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
cd ../..
protoc --plugin="$bin/protoc-gen-go" --go_out=. --go_opt=paths=source_relative internal/persistentpb/persistent.proto
