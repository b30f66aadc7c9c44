// SPDX-License-Identifier: Apache-2.0

//go:build go1.18
// +build go1.18

package main

type pair[K comparable, V any] struct {
	key   K
	value V
}

//go:noinline
func (p *pair[K, V]) turn(function func(K) int) int { return function(p.key) + 1 }

func each[T any](items []T, function func(T) int) (n int) {
	for _, item := range items {
		n += function(item)
	}
	return n
}

func generic(n int) int {
	p := &pair[string, int]{"key", 1}
	return p.turn(func(key string) int { return small(len(key)) }) +
		each([]int{1, 2}, twice) + each([]string{"a"}, func(text string) int { return observe(len(text)) })
}
