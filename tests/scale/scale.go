// scale.go: what one operation costs among N goroutines, or N locks: the rows of scale.c as a Go program does them.
//
// Usage: scale ROW N.  Prints `ROW N NAME VALUE UNIT` lines, as scale.c does, from which each row's meaning is.
// It must never assert a time.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	turnsAtLeast  = 200000
	sleepsAtLeast = 20000
	rounds        = 1000000
)

var (
	row string
	n   int
)

func report(name string, value float64, unit string) {
	fmt.Printf("%s %d %s %.0f %s\n", row, n, name, value, unit)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// Bytes of memory, page tables included.
func memory() float64 {
	text, err := os.ReadFile("/proc/self/status")
	must(err)
	kb := 0
	for _, line := range strings.Split(string(text), "\n") {
		f := strings.Fields(line)
		if len(f) == 3 && (f[0] == "VmRSS:" || f[0] == "VmPTE:") {
			v, err := strconv.Atoi(f[1])
			must(err)
			kb += v
		}
	}
	return float64(kb) * 1024
}

func cpu() float64 {
	var ru syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &ru))
	return float64(ru.Utime.Nano() + ru.Stime.Nano())
}

func per(start time.Time, count int) float64 {
	return float64(time.Since(start).Nanoseconds()) / float64(count)
}

// N goroutines that park until wake() and then do body; join() waits for their ends.
type team struct {
	mu         sync.Mutex
	all, start *sync.Cond
	parked     int
	begun      bool
	ended      sync.WaitGroup
}

func newTeam(body func(i int)) *team {
	t := &team{}
	t.all, t.start = sync.NewCond(&t.mu), sync.NewCond(&t.mu)
	t.ended.Add(n)
	for i := 0; i < n; i++ {
		go func(i int) {
			t.mu.Lock()
			if t.parked++; t.parked == n {
				t.all.Signal()
			}
			for !t.begun {
				t.start.Wait()
			}
			t.mu.Unlock()
			body(i)
			t.ended.Done()
		}(i)
	}
	t.mu.Lock()
	for t.parked < n {
		t.all.Wait()
	}
	t.mu.Unlock()
	return t
}

func (t *team) wake() {
	t.mu.Lock()
	t.begun = true
	t.start.Broadcast()
	t.mu.Unlock()
}

func threads() {
	sems := make([]chan struct{}, n)
	for i := range sems {
		sems[i] = make(chan struct{}, 1)
	}
	turns := turnsAtLeast / n * n
	if turns < n {
		turns = n
	}
	before, start := memory(), time.Now()
	t := newTeam(func(i int) {
		for k := i; k < turns; k += n {
			<-sems[i]
			sems[(i+1)%n] <- struct{}{}
		}
	})
	report("make", per(start, n), "ns")
	report("memory", (memory()-before)/float64(n), "bytes")
	start = time.Now()
	t.wake()
	sems[0] <- struct{}{}
	t.ended.Wait()
	report("turn", per(start, turns), "ns")
}

func sleepers() {
	sleeps := sleepsAtLeast / n
	if sleeps < 2 {
		sleeps = 2
	}
	t := newTeam(func(int) {
		for k := 0; k < sleeps; k++ {
			time.Sleep(time.Millisecond)
		}
	})
	used, start := cpu(), time.Now()
	t.wake()
	t.ended.Wait()
	report("sleep-cpu", (cpu()-used)/float64(n*sleeps), "ns")
	report("round", per(start, sleeps), "ns")
}

func locks() {
	m := make([]sync.Mutex, n)
	c := make([]*sync.Cond, n)
	for i := range c {
		c[i] = sync.NewCond(&m[i])
	}
	turns := rounds / n
	if turns == 0 {
		turns = 1
	}
	start := time.Now()
	for r := 0; r < turns; r++ {
		for i := range m {
			m[i].Lock()
			m[i].Unlock()
		}
	}
	report("lock", per(start, turns*n), "ns")
	start = time.Now()
	for r := 0; r < turns; r++ {
		for i := range c {
			c[i].Signal()
		}
	}
	report("signal", per(start, turns*n), "ns")
}

func main() {
	rows := map[string]func(){"threads": threads, "sleepers": sleepers, "locks": locks}
	if len(os.Args) == 3 {
		row = os.Args[1]
		n, _ = strconv.Atoi(os.Args[2])
		if run, ok := rows[row]; ok && n > 0 {
			run()
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: scale threads|sleepers|locks N")
	os.Exit(2)
}
