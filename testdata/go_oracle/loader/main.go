// SPDX-License-Identifier: Apache-2.0

// Loads the oracle as a plugin: its path is the first argument, the step the second.
package main

import (
	"os"
	"plugin"
	"strconv"
)

func main() {
	step, _ := strconv.Atoi(os.Args[2])
	loaded, err := plugin.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	run, err := loaded.Lookup("PrintAll")
	if err != nil {
		panic(err)
	}
	run.(func(uintptr))(uintptr(step))
}
