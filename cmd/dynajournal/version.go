package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCommand struct{}

// versionResult identifies the build of this program.
type versionResult struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func (r versionResult) text() string {
	return fmt.Sprintf("dynajournal %s, commit %s, %s", r.Version, r.Commit, r.Go)
}

const unknown = "unknown"

// Run runs the command.
func (versionCommand) Run(s *session) error {
	r := versionResult{Version: buildVersion(), Commit: unknown, Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				r.Commit = setting.Value
			}
		}
	}
	return s.result.write(r)
}

// buildVersion returns the version of the module that this program was built from.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return first(info.Main.Version, unknown)
	}
	return unknown
}
