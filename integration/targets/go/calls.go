// SPDX-License-Identifier: Apache-2.0

// Plain calls, calls inlined three deep, closures of all kinds, and calls through variables.
//
// chain: MAIN > main.plain main.middle main.spin
// chain: MAIN > main.inlined main.three_[i] main.two_[i] main.one_[i] main.spin
// chain: MAIN > main.closures main.apply main.closures.func1 main.spin
// chain: MAIN > main.closures main.counter
// chain: MAIN > main.closures main.apply main.counter.func1 main.spin
// chain: MAIN > main.closures main.apply main.closures.func2 main.apply main.closures.func2.1 main.spin
// seen: main.plain main.middle main.spin
// seen: main.inlined main.three_[i] main.two_[i] main.one_[i] main.spin
// seen: main.closures main.apply main.closures.func1 main.spin
// seen: main.closures main.apply main.counter.func1 main.spin
// seen: main.apply main.closures.func2 main.apply main.closures.func2.1 main.spin
package main

import "os"

var sink int

//go:noinline
func spin(n int) int {
	for i := 0; i < 20000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func middle(n int) int {
	return spin(n) + 1
}

//go:noinline
func plain(n int) int {
	return middle(n) + 1
}

// So little that older compilers have it inlined in what is itself inlined.
func one(n int) int {
	return spin(n)
}

func two(n int) int {
	return one(n)
}

func three(n int) int {
	return two(n)
}

//go:noinline
func inlined(n int) int {
	return three(n) + 1
}

//go:noinline
func apply(function func(int) int, n int) int {
	return function(n) + 1
}

//go:noinline
func counter(start int) func(int) int {
	count := start
	return func(n int) int {
		count++
		return spin(n+count) + 1
	}
}

//go:noinline
func closures(n int) int {
	captured := n
	n += apply(func(m int) int { return spin(m+captured) + 1 }, n)
	n += apply(counter(n), n)
	n += apply(func(m int) int {
		return apply(func(k int) int { return spin(k+captured) + 1 }, m) + 1
	}, n)
	return n
}

func main() {
	os.Stdout.WriteString("ready\n")
	for {
		sink += plain(sink)
		sink += inlined(sink)
		sink += closures(sink)
	}
}
