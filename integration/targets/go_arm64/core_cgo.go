// SPDX-License-Identifier: Apache-2.0

//go:build cgo
// +build cgo

package main

// Programs that call no C have it all the same where it is there to be had.
import _ "runtime/cgo"
