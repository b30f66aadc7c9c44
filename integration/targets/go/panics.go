// SPDX-License-Identifier: Apache-2.0

// Deferred functions, at returns and in panics, that of the runtime for a bad address among them,
// and what is recovered, nested too.
//
// chain: MAIN > main.returns DEFER* main.returns.func1 main.spin
// chain: MAIN > main.loops DEFER* main.late main.spin
// chain: MAIN > main.recovers main.thrower RUNTIME* main.recovers.func1 main.spin
// chain: MAIN > main.faults main.(*node).next RUNTIME* main.faults.func1 main.spin
// chain: MAIN > main.nested main.thrower RUNTIME* main.nested.func1 main.spin
// chain: MAIN > main.nested main.thrower RUNTIME* main.nested.func2 main.thrower RUNTIME* main.nested.func2.1 main.spin
// seen: main.returns DEFER* main.returns.func1 main.spin
// seen: main.late main.spin
// seen: main.recovers main.thrower runtime.gopanic RUNTIME* main.recovers.func1 main.spin
// seen: main.(*node).next runtime.sigpanic runtime.panicmem runtime.gopanic RUNTIME* main.faults.func1 main.spin
// seen: main.nested main.thrower runtime.gopanic RUNTIME* main.nested.func2 main.thrower runtime.gopanic RUNTIME* main.nested.func2.1 main.spin
package main

import "os"

var sink int

type node struct{ before, after *node }

//go:noinline
func spin(n int) int {
	for i := 0; i < 20000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func returns(n int) int {
	defer func() { sink += spin(n) }()
	return n + 1
}

//go:noinline
func late(n int) { sink += spin(n) }

// So many that they are kept in a list.
//
//go:noinline
func loops(n int) int {
	for i := 0; i < n; i++ {
		defer late(i)
	}
	return n + 1
}

//go:noinline
func thrower(n int) int {
	if n >= 0 {
		panic("thrown")
	}
	return n
}

//go:noinline
func recovers(n int) (sum int) {
	defer func() {
		sink += spin(n)
		recover()
		sum = 1
	}()
	return thrower(n) + 1
}

//go:noinline
func (n *node) next() *node { return n.after.before }

//go:noinline
func faults(n int) int {
	defer func() {
		sink += spin(n)
		recover()
	}()
	if new(node).next() == nil {
		n++
	}
	return n
}

// A panic in what another panic has called.
//
//go:noinline
func nested(n int) int {
	defer func() {
		sink += spin(n)
		recover()
	}()
	defer func() {
		defer func() {
			sink += spin(n)
			recover()
		}()
		sink += thrower(n)
	}()
	return thrower(n) + 1
}

func main() {
	os.Stdout.WriteString("ready\n")
	for {
		sink += returns(1) + loops(3) + recovers(1) + faults(1) + nested(1)
	}
}
