// SPDX-License-Identifier: Apache-2.0

//go:build !go1.18
// +build !go1.18

package main

func generic(n int) int { return n }
