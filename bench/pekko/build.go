package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs has the command lines of the compared programs.
type programs struct {
	// command is the path of the command. java is the command line of the Java program without its
	// class name.
	command string
	java    []string
}

// build builds the command and the Java program into a folder.
func build(ctx context.Context, folder string) (programs, error) {
	root, err := output(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return programs{}, err
	}
	command := filepath.Join(folder, "dynajournal")
	if _, err := output(ctx, root, "go", "build", "-o", command, "./cmd/dynajournal"); err != nil {
		return programs{}, err
	}
	target := filepath.Join(folder, "interop")
	if _, err := output(ctx, filepath.Join(root, "internal", "interop"), "mvn", "-q", "-B", "-Dinterop.target="+target,
		"package"); err != nil {
		return programs{}, err
	}
	classes := filepath.Join(target, "interop.jar") + string(os.PathListSeparator) + filepath.Join(target, "lib", "*")
	// The JVM chooses its collector and compilers. Only its heap is limited; by default it would be
	// a quarter of the machine's memory.
	return programs{command, []string{"java", "-Xmx512m", "-Daws.java.v1.disableDeprecationAnnouncement=true", "-cp",
		classes}}, nil
}

// output runs a program and returns its output.
func output(ctx context.Context, folder, program string, args ...string) (string, error) {
	process := exec.CommandContext(ctx, program, args...) //nolint:gosec // our own tools
	process.Dir = folder
	var errs strings.Builder
	process.Stderr = &errs
	out, err := process.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(process.Args, " "), err, out, errs.String())
	}
	return strings.TrimSpace(string(out)), nil
}
