// Command tutorial runs the steps of docs/tutorial.md, which build one service.
//
//	go run ./examples/tutorial step1
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/dynajournal/dynajournal/examples/tutorial/step1"
	"github.com/dynajournal/dynajournal/examples/tutorial/step3"
	"github.com/dynajournal/dynajournal/examples/tutorial/step4"
	"github.com/dynajournal/dynajournal/examples/tutorial/step5"
	"github.com/dynajournal/dynajournal/examples/tutorial/step6"
)

func main() {
	log.SetFlags(0)
	addr := flag.String("addr", "127.0.0.1:8080", "listen on this `address`")
	data := flag.String("data", filepath.Join(os.TempDir(), "dynajournal-tutorial"), "keep the data of steps 4 and 5 in this `folder`")
	flag.Parse()
	// ECS, Kubernetes and systemd send SIGTERM before they kill a process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, os.Stdout, flag.Arg(0), *addr, *data); err != nil {
		log.Fatal(err)
	}
}

// run runs a step until it or ctx ends. The first step prints to out. The others write to the log.
func run(ctx context.Context, out io.Writer, step, addr, data string) error {
	switch step {
	case "step1":
		return step1.Run(ctx, out)
	case "step3":
		return step3.Run(ctx, addr)
	case "step4":
		return step4.Run(ctx, addr, data)
	case "step5":
		return step5.Run(ctx, addr, data)
	case "step6":
		return step6.Run(ctx, addr)
	default:
		return fmt.Errorf("there is no step %q: give step1, step3, step4, step5 or step6; step 2 is a test", step)
	}
}
