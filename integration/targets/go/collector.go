// SPDX-License-Identifier: Apache-2.0

// Goroutines that allocate, so that the garbage collector works all the time: its own goroutines,
// the help that those who allocate give, stacks that shrink.
//
// own: 5
// chain: GO main.worker > main.build{0,16}
// chain: GO main.worker > main.maps
// chain: MAIN >
// seen: main.build RUNTIME* runtime.mallocgc
// seen: GO runtime.gcBgMarkWorker RUNTIME* runtime.gcDrain
package main

import "os"

type tree struct {
	left, right *tree
	name        []byte
}

var kept [4]*tree

//go:noinline
func build(depth int) *tree {
	if depth == 1 {
		return &tree{name: make([]byte, 40)}
	}
	return &tree{left: build(depth - 1), right: build(depth - 1)}
}

//go:noinline
func maps(n int) int {
	counts := map[int][]int{}
	for i := 0; i < n; i++ {
		counts[i*31] = append(counts[i], i)
	}
	return len(counts)
}

//go:noinline
func worker(number int) {
	for {
		kept[number] = build(12 + number)
		maps(2000)
	}
}

func main() {
	for number := range kept {
		go worker(number)
	}
	os.Stdout.WriteString("ready\n")
	select {}
}
