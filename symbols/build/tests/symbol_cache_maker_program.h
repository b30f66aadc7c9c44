/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For test programs that make symbol caches: the process that makes one is the test program started
 * again (scripts/unit_tests.c), so the program needs an entry for it.
 */
#ifndef SYMBOLS_BUILD_TESTS_SYMBOL_CACHE_MAKER_PROGRAM_H
#define SYMBOLS_BUILD_TESTS_SYMBOL_CACHE_MAKER_PROGRAM_H

#include "symbols/build/symbol_cache_maker.h"

/** Weak, since several tests of one program include it. */
__attribute__((weak)) void unit_tests_enter(int argc, char **argv)
{
	symbol_cache_maker_enter(argc, argv);
}

#endif
