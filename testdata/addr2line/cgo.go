// SPDX-License-Identifier: Apache-2.0

// C in a program of Go.
package main

/*
#include <stdlib.h>
static int twice(int x) { return x * 2; }
static int of_c(int x) { return x < 3 ? x : twice(x) + of_c(x - 1) + of_c(x - 2); }
int called(int x) { return of_c(x) + (rand() & 1); }
*/
import "C"

import "fmt"

func main() {
	fmt.Println(C.called(10))
}
