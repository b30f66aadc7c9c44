// SPDX-License-Identifier: Apache-2.0

// What plugin/main.go loads.
package main

//go:noinline
func spin(n int) int {
	for i := 0; i < 20000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func middle(function func(int) int, n int) int { return function(n) + spin(n) }

// Work is what the program calls.
//
//go:noinline
func Work(function func(int) int, n int) int { return middle(function, n) + 1 }

func main() {}
