/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For test programs that make range files: the process that makes one is the test program started
 * again (scripts/unit_tests.c), so the program needs an entry for it.
 */
#ifndef SYMBOLS_BUILD_TESTS_RANGE_MAKER_PROGRAM_H
#define SYMBOLS_BUILD_TESTS_RANGE_MAKER_PROGRAM_H

#include "symbols/build/range_maker.h"

/** Weak, since several tests of one program include it. */
__attribute__((weak)) void unit_tests_enter(int argc, char **argv)
{
	range_maker_enter(argc, argv);
}

#endif
