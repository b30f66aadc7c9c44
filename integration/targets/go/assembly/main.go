// SPDX-License-Identifier: Apache-2.0

// Assembly: of the standard library, and functions of our own with frames of several kinds, which call
// Go again.
//
// chain: MAIN > main.hashes HASH* HASH_BLOCK*
// chain: MAIN > main.searches STRINGS*
// chain: MAIN > main.copies
// chain: MAIN > main.assembly main.leaf
// chain: MAIN > main.assembly main.framed main.spin
// chain: MAIN > main.assembly main.pushes main.framed main.spin
// seen: main.hashes HASH* HASH_BLOCK
// seen: main.searches STRINGS*
// seen: main.copies runtime.memmove
// seen: main.assembly main.leaf
// seen: main.assembly main.framed main.spin
// seen: main.assembly main.pushes main.framed main.spin
package main

import (
	"crypto/sha256"
	"os"
	"strings"
)

var sink int

// Counts down from @n, without a frame.
func leaf(n int) int

// Calls spin(), with a frame of its own size.
func framed(n int) int

// Calls framed() while it has pushed words of which no declaration tells.
func pushes(n int) int

//go:noinline
func spin(n int) int {
	for i := 0; i < 20000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func hashes(data []byte) int { return int(sha256.Sum256(data)[0]) }

//go:noinline
func searches(text, wanted string) int { return strings.Index(text, wanted) + 1 }

//go:noinline
func copies(to, from []byte) int { return copy(to, from) + 1 }

//go:noinline
func assembly(n int) int { return leaf(20000) + framed(n) + pushes(n) }

func main() {
	from, to := make([]byte, 1<<16), make([]byte, 1<<16)
	text := strings.Repeat("ab", 1<<15)
	os.Stdout.WriteString("ready\n")
	for {
		sink += hashes(from) + searches(text, "abb") + assembly(sink)
		for i := 0; i < 8; i++ {
			sink += copies(to, from)
		}
	}
}
