// SPDX-License-Identifier: Apache-2.0

// Goroutines that yield, and such that begin and end: the scheduler works for a goroutine at first,
// and for itself when it has put that away.
//
// chain: GO main.begins > main.yields
// chain: GO main.ends
// chain: GO runtime.goexit1
// chain: MAIN >
// seen: main.yields RUNTIME* runtime.mcall RUNTIME+
// seen: main.begins RUNTIME* runtime.newproc
// seen: GO runtime.goexit1 runtime.mcall RUNTIME+
package main

import (
	"os"
	"runtime"
)

//go:noinline
func yields() {
	for i := 0; i < 16; i++ {
		runtime.Gosched()
	}
}

//go:noinline
func ends(to chan int) { to <- 1 }

//go:noinline
func begins(to chan int) {
	for {
		go ends(to)
		<-to
		yields()
	}
}

func main() {
	for i := 0; i < 4; i++ {
		go begins(make(chan int))
	}
	os.Stdout.WriteString("ready\n")
	select {}
}
