/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Included before every source under static analysis: that fail() returns its code, which an
 * analyzer cannot see across files, so that it follows errors as they are.
 */
#ifndef SCRIPTS_ANALYZER_HINTS_H
#define SCRIPTS_ANALYZER_HINTS_H

#include "lib/base/error.h"

#define fail(code, ...) ((void)sizeof(#__VA_ARGS__), (code))
#define fail_errno(code, ...) ((void)sizeof(#__VA_ARGS__), (code))

#endif
