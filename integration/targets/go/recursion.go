// SPDX-License-Identifier: Apache-2.0

// Deep recursion of goroutines that begin with a small stack, which grows by being moved: the depth
// is right in every sample, also while it moves.
//
// chain: GO main.start > main.down{0,250}
// chain: GO main.start main.down{250} > main.bottom
// chain: GO main.start main.across main.left{400} > main.bottom
// chain: GO main.start > main.across main.left{0,400}
// chain: MAIN >
// seen: main.down{250} main.bottom
// seen: main.left{400} main.bottom
// seen: main.down RUNTIME* runtime.newstack
package main

import "os"

var sink int

//go:noinline
func bottom(n int) int {
	for i := 0; i < 100000; i++ {
		n = n*31 + i
	}
	return n
}

// A frame of a kilobyte.
//
//go:noinline
func down(depth int) int {
	var kept [128]int
	kept[depth&127] = depth
	if depth == 1 {
		return bottom(kept[1])
	}
	return down(depth-1) + kept[depth&127]
}

//go:noinline
func left(depth int) int {
	if depth == 1 {
		return bottom(depth)
	}
	return left(depth-1) + depth
}

//go:noinline
func across() int { return left(400) + 1 }

//go:noinline
func start(done chan int) {
	n := down(250) + across()
	done <- n
}

func main() {
	done := make(chan int)
	os.Stdout.WriteString("ready\n")
	for {
		go start(done)
		sink += <-done
	}
}
