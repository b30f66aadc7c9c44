// SPDX-License-Identifier: Apache-2.0

// Methods of values and pointers, through interfaces, of embedded fields, and as values. The
// functions that the compiler makes to hand receivers on are in no stack, but for one that only jumps:
// the table does not say that it is a wrapper.
//
// chain: MAIN > main.run main.value.turn main.spin
// chain: MAIN > main.run main.(*pointer).turn main.spin
// chain: MAIN > main.through main.value.turn main.spin
// chain: MAIN > main.through main.(*pointer).turn main.spin
// chain: MAIN > main.through main.(*deep).turn main.(*base).turn main.spin
// chain: MAIN > main.through main.(*base).turn main.spin
// chain: MAIN main.through main.(*embedding).turn
// chain: MAIN > main.apply main.value.turn main.spin
// chain: MAIN > main.apply main.(*pointer).turn main.spin
// seen: main.run main.value.turn main.spin
// seen: main.run main.(*pointer).turn main.spin
// seen: main.through main.value.turn main.spin
// seen: main.through main.(*pointer).turn main.spin
// seen: main.through main.(*deep).turn main.(*base).turn main.spin
// seen: main.through main.(*base).turn main.spin
// seen: main.apply main.value.turn main.spin
// seen: main.apply main.(*pointer).turn main.spin
package main

import "os"

var sink int

type turner interface {
	turn(n int) int
}

type value struct{ a, b, c int }

type pointer struct{ a int }

type base struct{ a int }

// Has base's method by a wrapper.
type embedding struct {
	before int
	*base
}

// Calls that of what it embeds.
type deep struct{ embedding }

//go:noinline
func spin(n int) int {
	for i := 0; i < 20000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func (v value) turn(n int) int { return spin(n+v.a) + v.b }

//go:noinline
func (p *pointer) turn(n int) int { return spin(n+p.a) + 1 }

//go:noinline
func (b *base) turn(n int) int { return spin(n+b.a) + 1 }

//go:noinline
func (d *deep) turn(n int) int { return d.embedding.turn(n) + 1 }

//go:noinline
func through(t turner, n int) int { return t.turn(n) + 1 }

//go:noinline
func apply(function func(int) int, n int) int { return function(n) + 1 }

//go:noinline
func run(v value, p *pointer, n int) int { return v.turn(n) + p.turn(n) }

func main() {
	v, p, b := value{1, 2, 3}, &pointer{1}, &base{1}
	e := embedding{1, b}
	d := &deep{e}
	turners := []turner{v, &v, p, b, e, &e, d}
	os.Stdout.WriteString("ready\n")
	for {
		sink += run(v, p, sink)
		for _, t := range turners {
			sink += through(t, sink)
		}
		sink += apply(v.turn, sink)
		sink += apply(p.turn, sink)
	}
}
