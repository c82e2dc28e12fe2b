package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// stopTimeout is how long the process of an engine may take to stop before it is killed.
const stopTimeout = 10 * time.Second

// serveInProcess runs this program as a server of an engine, in another process: its processor time
// must not count as the client's. The server outlives an interrupt of this process, until the
// tables are deleted.
func serveInProcess(
	ctx context.Context, messages io.Writer, place []string,
) (endpoint string, stop func() error, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("find this program: %w", err)
	}
	args := append([]string{"serve", "--output", "text", "--addr", "127.0.0.1:0"}, place...)
	process := exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // this very program
	process.Stderr = messages
	process.SysProcAttr = ownProcessGroup()
	out, err := process.StdoutPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		return "", nil, fmt.Errorf("start %s: %w", program, err)
	}
	stop = func() error {
		timer := time.AfterFunc(stopTimeout, func() { _ = process.Process.Kill() })
		defer timer.Stop()
		err := process.Process.Signal(syscall.SIGTERM)
		if err != nil { // on systems without signals
			err = process.Process.Kill()
		}
		if err = errors.Join(err, process.Wait()); err != nil {
			return fmt.Errorf("stop the engine: %w", err)
		}
		return nil
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	endpoint, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		return "", nil, fmt.Errorf("the engine did not print its address: %w", errors.Join(err, stop()))
	}
	return endpoint, stop, nil
}
