// SPDX-License-Identifier: Apache-2.0

// What the runtime does for a goroutine on the thread's own stack: statistics, stacks as text, memory
// given back; and threads that are kept by goroutines.
//
// own: 10
// chain: MAIN >
// chain: GO main.statistics > main.measure
// chain: GO main.stacks > main.deeper{0,20}
// chain: GO main.stacks main.deeper{20} > main.dump
// chain: GO main.keeps > main.turn
// seen: main.statistics main.measure RUNTIME* runtime.systemstack RUNTIME+
// seen: main.deeper{20} main.dump RUNTIME* runtime.systemstack RUNTIME+
// seen: main.keeps main.turn
package main

import (
	"os"
	"runtime"
)

var sink int

//go:noinline
func measure() {
	var found runtime.MemStats
	runtime.ReadMemStats(&found)
	sink += int(found.Mallocs)
}

//go:noinline
func statistics() {
	for {
		measure()
	}
}

//go:noinline
func dump(buffer []byte) int { return runtime.Stack(buffer, false) + 1 }

//go:noinline
func deeper(depth int, buffer []byte) int {
	if depth == 1 {
		return dump(buffer) + 1
	}
	return deeper(depth-1, buffer) + 1
}

//go:noinline
func stacks() {
	buffer := make([]byte, 1<<16)
	for {
		sink += deeper(20, buffer)
	}
}

//go:noinline
func turn(n int) int {
	for i := 0; i < 2000; i++ {
		n = n*31 + i
	}
	return n
}

// Each turn is one of another thread's.
//
//go:noinline
func keeps(from, to chan int) {
	runtime.LockOSThread()
	for n := range from {
		to <- turn(n)
	}
}

func main() {
	there, back := make(chan int, 1), make(chan int, 1)
	go statistics()
	go stacks()
	go keeps(there, back)
	go keeps(back, there)
	there <- 1
	os.Stdout.WriteString("ready\n")
	select {}
}
