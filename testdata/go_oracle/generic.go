// SPDX-License-Identifier: Apache-2.0

//go:build go1.18
// +build go1.18

package main

type number interface{ ~int | ~float64 }

type list[T number] struct{ items []T }

func (l *list[T]) push(item T) *list[T] {
	l.items = append(l.items, item)
	return l
}

func sum[K comparable, T number](groups map[K]list[T]) (total T) {
	for _, group := range groups {
		total += func() (t T) {
			for _, item := range group.items {
				t += largest(item, t)
			}
			return
		}()
	}
	return
}

func largest[T number](a, b T) T {
	if a > b {
		return a
	}
	return b
}

func generic(n int) int {
	ints := map[string]list[int]{"a": *(&list[int]{}).push(n)}
	floats := map[[2]int]list[float64]{{1, 2}: *(&list[float64]{}).push(float64(n))}
	return sum(ints) + int(sum(floats))
}
