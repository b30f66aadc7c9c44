// SPDX-License-Identifier: Apache-2.0

//go:build cgo && oracle_shared
// +build cgo,oracle_shared

package main

// static int three(void) { return 3; }
import "C"

// OracleMain is what the program that loads this library calls.
//
//export OracleMain
func OracleMain(step C.int) {
	work(int(step) + int(C.three()))
	printAll(uintptr(step))
}
