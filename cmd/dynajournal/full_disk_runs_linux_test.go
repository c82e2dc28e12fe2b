package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

var (
	diskRuns    = flag.Int("disk.runs", 3, "how many small disks are filled at random")
	diskSeed    = flag.Uint64("disk.seed", 1, "where the random choices begin; each run takes the next seed")
	diskCommand = flag.String("disk.command", "",
		"the command that fills them, such as one of another version; this one if empty")
)

// hangTime is how long a command may run before it is killed. A command that hangs is a failure
// only while the disk has space.
const hangTime = 5 * time.Second

// diskRun fills one disk.
type diskRun struct {
	t      *testing.T
	random *rand.Rand
	disk   string
	plan   []string // the random choices, for a failure

	lock sync.Mutex
	// stored counts the acknowledged events of each persistence id.
	// unknown counts the events that may also be stored: the event of a failed call, and all events
	// of a command that was killed before it reported any.
	stored, unknown map[string]int
}

// diskTotals counts the results of the runs.
type diskTotals struct {
	runs, served, fullBefore, neverStored, stored, fewer, none, more, unusable int
}

// randomOf returns a source whose first numbers differ between adjacent seeds.
func randomOf(seed uint64) *rand.Rand {
	return rand.New(rand.NewChaCha8([32]byte(binary.BigEndian.AppendUint64(make([]byte, 24), seed))))
}

func (d *diskRun) planned(format string, args ...any) {
	d.plan = append(d.plan, fmt.Sprintf(format, args...))
}

func (d *diskRun) chance(percent int) bool { return d.random.IntN(100) < percent }

// moment returns a random time while a run fills the disk.
func (d *diskRun) moment() time.Duration {
	return time.Duration(d.random.Int64N(int64(400 * time.Millisecond)))
}

func (d *diskRun) engine() string { return d.disk + "/engine" }

func (d *diskRun) process(ctx context.Context, args ...string) *exec.Cmd {
	p := process(d.t, args...)
	if *diskCommand != "" {
		p.Path, p.Env = *diskCommand, os.Environ()
	}
	own := exec.CommandContext(ctx, p.Path, args...)
	own.Env = p.Env
	own.WaitDelay = time.Second
	return own
}

// count adds the events that a call has reported, and the number of events that may be stored
// without a report.
func (d *diskRun) count(pid, out string, unknown int) {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.stored[pid] += strings.Count(out, "\n")
	d.unknown[pid] += unknown
}

// appendAlone runs a command that appends to pid, and kills it when the context ends. It reports
// whether the command succeeded.
func (d *diskRun) appendAlone(ctx context.Context, random *rand.Rand, pid string, size int) bool {
	line := d.appendLine(random, pid, size)
	p := d.process(ctx, append([]string{"--data", d.engine()}, line...)...)
	out, err := p.Output()
	switch {
	case err == nil:
		d.count(pid, string(out), 0)
	case p.ProcessState != nil && p.ProcessState.Exited():
		d.count(pid, string(out), 1)
	default:
		d.count(pid, string(out), len(line)/2)
	}
	return err == nil
}

// appendLine is a command line that appends some events to pid.
func (d *diskRun) appendLine(random *rand.Rand, pid string, size int) []string {
	line := []string{"--output", "json", "append", pid}
	for range 1 + random.IntN(max(1, min(20, 1_000_000/size))) {
		event := make([]byte, size)
		for i := range event {
			// Tables of compressible data do not fill the disk.
			event[i] = 'a' + byte(random.IntN(26))
		}
		line = append(line, "--string", string(event))
	}
	return line
}

// fillByCommands appends from several processes, sequentially and concurrently. Some of them are
// killed.
func (d *diskRun) fillByCommands(size int) {
	var writers sync.WaitGroup
	for writer := range 1 + d.random.IntN(3) {
		random := randomOf(d.random.Uint64())
		lasts, kill := d.moment()+d.moment(), d.chance(50)
		pid := fmt.Sprint("c", writer)
		writers.Go(func() {
			ctx, stop := context.WithTimeout(d.t.Context(), lasts)
			defer stop()
			for failures := 0; failures < 2 && ctx.Err() == nil; {
				call, end := ctx, context.CancelFunc(func() {})
				if !kill {
					call, end = context.WithTimeout(d.t.Context(), hangTime)
				}
				if !d.appendAlone(call, random, pid, size) {
					failures++
				}
				end()
			}
		})
	}
	writers.Wait()
}

// fillByServing serves the folder and appends from several writers. The server is killed, is
// terminated, or stops by itself.
func (d *diskRun) fillByServing(size int) {
	how := d.random.IntN(3)
	d.planned("serve, its end %s", []string{"kill", "SIGTERM", "its own, killed in the end"}[how])
	serving, kill := context.WithCancel(d.t.Context())
	s := d.process(serving, "serve", "--addr", "127.0.0.1:0", "--data", d.engine())
	out, err := s.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		d.t.Fatal(err)
	}
	defer func() {
		kill()
		_ = s.Wait()
	}()
	defer time.AfterFunc(hangTime, kill).Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		d.planned("it never listened")
		return // no space for a new folder
	}
	url := strings.TrimPrefix(strings.TrimSpace(line), "listening on ")
	ctx, stop := context.WithTimeout(d.t.Context(), 700*time.Millisecond)
	defer stop()
	switch how {
	case 0:
		defer time.AfterFunc(d.moment()+d.moment(), kill).Stop()
	case 1:
		defer time.AfterFunc(d.moment()+d.moment(), func() { _ = s.Process.Signal(syscall.SIGTERM) }).Stop()
	}
	if d.chance(20) { // the free space changes while it serves
		d.planned("room meanwhile")
		defer time.AfterFunc(d.moment()+d.moment(), func() { _ = d.makeRoom() }).Stop()
	}
	invoke(ctx, "", "--endpoint", url, "tables", "create")
	var writers sync.WaitGroup
	for writer := range 1 + d.random.IntN(4) {
		random := randomOf(d.random.Uint64())
		pid := fmt.Sprint("s", writer)
		writers.Go(func() {
			for failures := 0; failures < 3 && ctx.Err() == nil; {
				o := invoke(ctx, "", append([]string{"--endpoint", url}, d.appendLine(random, pid, size)...)...)
				failed := 0
				if o.status != statusDone {
					failed = 1
				}
				failures += failed
				d.count(pid, o.out, failed)
			}
		})
	}
	writers.Wait()
	if how == 1 {
		_ = s.Process.Signal(syscall.SIGTERM)
		waited, give := context.WithTimeout(d.t.Context(), time.Second)
		defer give()
		go func() { <-waited.Done(); kill() }()
		_ = s.Wait()
	}
}

// knock runs commands on the full disk. Some of them are killed.
func (d *diskRun) knock(size int) {
	for range d.random.IntN(3) {
		pid := fmt.Sprint("sc"[d.random.IntN(2):][:1], d.random.IntN(3))
		does := []string{"events", "highest", "append"}[d.random.IntN(3)]
		lasts := hangTime / 5
		if d.chance(30) {
			lasts = d.moment()
		}
		d.planned("%s %s on the full disk for %v", does, pid, lasts)
		ctx, stop := context.WithTimeout(d.t.Context(), lasts)
		if does == "append" {
			d.appendAlone(ctx, d.random, pid, size)
		} else {
			_ = d.process(ctx, "--data", d.engine(), does, pid).Run()
		}
		stop()
	}
}

// occupy takes all space of the disk except rest.
func (d *diskRun) occupy(rest int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(d.disk, &disk); err != nil {
		return err
	}
	return os.WriteFile(d.disk+"/other", make([]byte, max(0, int64(disk.Bavail)*disk.Bsize-rest)), 0o600)
}

func (d *diskRun) makeRoom() error {
	if err := os.Remove(d.disk + "/other"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syscall.Mount("none", d.disk, "tmpfs", syscall.MS_REMOUNT, "size=96m,nr_inodes=10000")
}

// files lists the folder, for a failure.
func (d *diskRun) files() string {
	var all strings.Builder
	_ = filepath.WalkDir(d.disk, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			info, _ := entry.Info()
			fmt.Fprintf(&all, " %s:%d", strings.TrimPrefix(path, d.disk), info.Size())
		}
		return nil
	})
	return all.String()
}

// events counts the events of pid.
func (d *diskRun) events(pid string) (int, error) {
	ctx, stop := context.WithTimeout(d.t.Context(), hangTime)
	defer stop()
	p := d.process(ctx, "--data", d.engine(), "--output", "json", "events", pid)
	var said bytes.Buffer
	p.Stderr = &said
	out, err := p.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, &said)
	}
	return bytes.Count(out, []byte("\n")), err
}

// check frees space, and checks that all acknowledged events are stored and that the folder can be
// used.
func (d *diskRun) check(total *diskTotals) {
	fail := func(format string, args ...any) {
		d.t.Errorf("%s\n  %s", fmt.Sprintf(format, args...), strings.Join(d.plan, "\n  "))
	}
	sum := 0
	for pid := range d.unknown {
		d.stored[pid] += 0 // also check an id without acknowledged events
	}
	for pid, stored := range d.stored {
		sum += stored
		found, err := d.events(pid)
		switch {
		case err != nil && stored > 0:
			total.unusable++
			fail("%s: %d events were acknowledged, and can't be read: %v", pid, stored, err)
		case found < stored:
			total.fewer++
			if found == 0 {
				total.none++
			}
			fail("%s: %d events were acknowledged, %d are there", pid, stored, found)
		case found > stored+d.unknown[pid]:
			total.more++
			fail("%s: %d events were acknowledged, and %d more can be there; there are %d", pid, stored,
				d.unknown[pid], found)
		}
	}
	total.stored += sum
	if sum == 0 {
		total.neverStored++
	}
	ctx, stop := context.WithTimeout(d.t.Context(), hangTime)
	defer stop()
	if out, err := d.process(ctx, "--data", d.engine(), "append", "new", "--string", "x").CombinedOutput(); err != nil {
		total.unusable++
		fail("the folder can't be used: %v: %s", err, out)
	} else if found, err := d.events("new"); found != 1 || err != nil {
		total.fewer++
		fail("an event was appended when there was room, %d are there, %v", found, err)
	}
}

// Each run fills its own disk, of 1 to 16 MB, at the first file or later. It uses servers or
// commands that stop, are terminated or are killed at any moment. Then it frees space.
func TestFullDisk_RandomRuns(t *testing.T) {
	testsize.NeedsLong(t, "it fills disks")
	if !hasOwnMounts(t, fmt.Sprint("-disk.runs=", *diskRuns), fmt.Sprint("-disk.seed=", *diskSeed),
		"-disk.command="+*diskCommand) {
		return
	}
	clean(t)
	var total diskTotals
	start := time.Now()
	for run := range uint64(max(0, *diskRuns)) {
		t.Run(fmt.Sprint("seed ", *diskSeed+run), func(t *testing.T) {
			d := &diskRun{t: t, random: randomOf(*diskSeed + run), stored: map[string]int{}, unknown: map[string]int{}}
			total.runs++
			d.fill(&total)
			d.planned("full:%s", d.files())
			if err := d.makeRoom(); err != nil {
				t.Fatal(err)
			}
			d.check(&total)
		})
	}
	t.Logf("in %v: %+v", time.Since(start).Round(time.Second), total)
}

// fill fills the disk.
func (d *diskRun) fill(total *diskTotals) {
	kib := 1024 + d.random.IntN(15*1024)
	options := fmt.Sprintf("size=%dk", kib)
	if d.chance(20) {
		options += fmt.Sprint(",nr_inodes=", 3+d.random.IntN(25))
	}
	d.disk = mountDisk(d.t, options)
	d.planned("a disk of %s", options)
	if d.chance(50) {
		total.fullBefore++
		rest := d.random.Int64N([]int64{1, 16 << 10, 128 << 10, 1 << 20, 4 << 20}[d.random.IntN(5)])
		d.planned("%d bytes free before the folder is created", rest)
		if err := d.occupy(rest); err != nil {
			d.t.Fatal(err)
		}
	}
	size := min(100_000, kib*1024/(10+d.random.IntN(100)))
	d.planned("events of %d bytes", size)
	if d.chance(50) {
		total.served++
		d.fillByServing(size)
	} else {
		d.planned("commands")
		d.fillByCommands(size)
	}
	if d.chance(50) {
		d.planned("others take the rest")
		_ = d.occupy(d.random.Int64N(1 << d.random.IntN(16))) // all inodes can be in use
	}
	d.knock(size)
}
