// SPDX-License-Identifier: Apache-2.0

// A plugin: its functions call those of the program, and the other way round.
//
// mode: plugin
// chain: MAIN > main.run target/plug.Work target/plug.middle main.run.func1 main.spin
// chain: MAIN > main.run target/plug.Work target/plug.middle target/plug.spin
// seen: main.run target/plug.Work target/plug.middle main.run.func1 main.spin
// seen: main.run target/plug.Work target/plug.middle target/plug.spin
package main

import (
	"os"
	"plugin"
)

var sink int

//go:noinline
func spin(n int) int {
	for i := 0; i < 20000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func run(work func(func(int) int, int) int, n int) int {
	return work(func(m int) int { return spin(m+n) + 1 }, n) + 1
}

func main() {
	loaded, err := plugin.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	symbol, err := loaded.Lookup("Work")
	if err != nil {
		panic(err)
	}
	work := symbol.(func(func(int) int, int) int)
	os.Stdout.WriteString("ready\n")
	for {
		sink += run(work, sink)
	}
}
