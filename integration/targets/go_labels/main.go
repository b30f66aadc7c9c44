// SPDX-License-Identifier: Apache-2.0

// Goroutines that never end, each in functions that always have the same labels (runtime/pprof.Do()):
// what the labels of main.busyX are stands in go_labels_test.py. Prints of some goroutines
// "goroutine NAME NUMBER", then "ready".
package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
)

var (
	sink    uint64
	garbage []byte
	started sync.WaitGroup
	output  sync.Mutex
)

func tell(name string) {
	text := make([]byte, 64)
	text = text[:runtime.Stack(text, false)]
	output.Lock()
	fmt.Printf("goroutine %s %s\n", name, bytes.Fields(text)[1])
	output.Unlock()
}

//go:noinline
func spin(n int) {
	x := sink
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1
	}
	sink = x
}

func do(f func(context.Context), ctx context.Context, labels ...string) {
	pprof.Do(ctx, pprof.Labels(labels...), f)
}

//go:noinline
func busyNone() {
	tell("none")
	started.Done()
	for {
		spin(100000)
	}
}

//go:noinline
func busyOne(context.Context) {
	tell("one")
	started.Done()
	for {
		spin(100000)
	}
}

//go:noinline
func busyInner(context.Context) {
	spin(100000)
}

//go:noinline
func busyAgain(context.Context) {
	spin(100000)
}

//go:noinline
func busyOuter() {
	spin(100000)
}

func nested(ctx context.Context) {
	started.Done()
	for {
		busyOuter()
		do(busyInner, ctx, "inner", "2")
		do(busyAgain, ctx, "outer", "3")
	}
}

//go:noinline
func busyMany(context.Context) {
	started.Done()
	for {
		spin(100000)
	}
}

//go:noinline
func busyEight(context.Context) {
	started.Done()
	for {
		spin(100000)
	}
}

//go:noinline
func busyLong(context.Context) {
	started.Done()
	for {
		spin(100000)
	}
}

//go:noinline
func busyOdd(context.Context) {
	started.Done()
	for {
		spin(100000)
	}
}

// Walks its own stack, which happens on the scheduler's, and makes garbage.
//
//go:noinline
func busySystem(context.Context) {
	started.Done()
	text := make([]byte, 4096)
	for {
		for i := 0; i < 50; i++ {
			runtime.Stack(text, false)
		}
		garbage = make([]byte, 40000)
	}
}

//go:noinline
func busyChild() {
	started.Done()
	for {
		spin(100000)
	}
}

func parent(context.Context) {
	go busyChild()
}

// A goroutine that ends all the time, so that another one has its number and its labels.
//
//go:noinline
func busyShort(context.Context) {
	spin(20000)
}

func shortLived() {
	started.Done()
	for {
		done := make(chan bool)
		go func() {
			do(busyShort, context.Background(), "short", "yes")
			done <- true
		}()
		<-done
	}
}

func numbered(count int) []string {
	var labels []string
	for i := 0; i < count; i++ {
		labels = append(labels, fmt.Sprintf("key%02d", i), fmt.Sprintf("value%02d", i))
	}
	return labels
}

func main() {
	background := context.Background()
	started.Add(10)
	go busyNone()
	go do(busyOne, background, "only", "one")
	go do(nested, background, "outer", "1")
	go do(busyMany, background, numbered(12)...)
	go do(busyEight, background, numbered(8)...)
	go do(busyLong, background, strings.Repeat("k", 100), strings.Repeat("v", 300),
		strings.Repeat("é", 40), strings.Repeat("ü", 200))
	go do(busyOdd, background, "process.pid", "1", "pid", "2", "comm", "mine", "label.tid", "3",
		"goroutine", "4", "empty", "", "control\n", "a\x00b\xff\x1b")
	go do(busySystem, background, "system", "stack")
	do(parent, background, "inherited", "yes")
	go shortLived()
	started.Wait()
	fmt.Println("ready")
	select {}
}
