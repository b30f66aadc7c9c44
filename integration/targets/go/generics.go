// SPDX-License-Identifier: Apache-2.0

// Generic functions and methods, instantiated for several types, of one shape and of others.
//
// from: 1.18
// chain: MAIN > main.Map[...] main.twice main.spin
// chain: MAIN > main.Map[...] main.long main.spin
// chain: MAIN > main.(*List[...]).Each main.main.func1 main.spin
// chain: MAIN > main.(*List[...]).Each main.main.func2 main.spin
// chain: MAIN > main.Fold[...] main.Map[...] main.twice main.spin
// chain: MAIN > main.Call[...] main.(*number).Turn main.spin
// seen: main.main main.Map[...] main.twice main.spin
// seen: main.main main.Map[...] main.long main.spin
// seen: main.(*List[...]).Each main.main.func1 main.spin
// seen: main.(*List[...]).Each main.main.func2 main.spin
// seen: main.Fold[...] main.Map[...] main.twice main.spin
// seen: main.Call[...] main.(*number).Turn main.spin
package main

import "os"

var sink int

type List[T any] struct{ items []T }

type Turner interface{ Turn(n int) int }

type number struct{ n int }

//go:noinline
func spin(n int) int {
	for i := 0; i < 20000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func twice(n int) int { return spin(n) * 2 }

//go:noinline
func long(text string) int { return spin(len(text)) + 1 }

//go:noinline
func Map[T, U any](from []T, function func(T) U) []U {
	to := make([]U, 0, len(from))
	for _, item := range from {
		to = append(to, function(item))
	}
	return to
}

//go:noinline
func Fold[T any](from []T, function func(T) int) int {
	sum := 0
	for _, item := range Map(from, function) {
		sum += item
	}
	return sum
}

//go:noinline
func (l *List[T]) Each(function func(T)) {
	for _, item := range l.items {
		function(item)
	}
}

//go:noinline
func (n *number) Turn(by int) int { return spin(n.n+by) + 1 }

//go:noinline
func Call[T Turner](turner T, n int) int { return turner.Turn(n) + 1 }

func main() {
	numbers, texts := []int{1, 2, 3}, []string{"one", "two"}
	list, strings := &List[int]{numbers}, &List[string]{texts}
	turner := &number{1}
	os.Stdout.WriteString("ready\n")
	for {
		sink += Map(numbers, twice)[0]
		sink += Map(texts, long)[0]
		sink += Fold(numbers, twice)
		list.Each(func(n int) { sink += spin(n) })
		strings.Each(func(text string) { sink += spin(len(text)) })
		sink += Call(turner, sink)
	}
}
