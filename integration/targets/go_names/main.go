// SPDX-License-Identifier: Apache-2.0

// Keeps a CPU busy in leaf functions whose names, files and lines are known: a method, a function with
// two others inlined in each other, a closure, a generic one.
package main

import "fmt"

var sink uint64

type mixer struct{ state uint64 }

//go:noinline
func (m *mixer) spin(n int) {
	for i := 0; i < n; i++ {
		m.state = m.state*6364136223846793005 + 1 // line of spin
	}
}

func inner(x uint64) uint64 {
	return x*2862933555777941757 + 3037000493 // line of inner
}

func middle(x uint64) uint64 {
	return inner(x) ^ x>>7 // line of middle
}

//go:noinline
func outer(n int) {
	x := sink
	for i := 0; i < n; i++ {
		x = middle(x) // line of outer
	}
	sink = x
}

//go:noinline
func sum[T uint64 | float64](values []T, n int) (total T) {
	for i := 0; i < n; i++ {
		total = total*3 + values[i&7] // line of sum
	}
	return total
}

//go:noinline
func twice(f func()) {
	f()
	f()
}

func main() {
	const turns = 3000000
	m := &mixer{1}
	values := make([]float64, 8)
	fmt.Println("ready")
	for {
		m.spin(turns)
		outer(turns)
		sink += uint64(sum(values, turns))
		twice(func() {
			for i := 0; i < turns/2; i++ {
				sink = sink<<1 ^ sink // line of the closure
			}
		})
	}
}
