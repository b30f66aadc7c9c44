/* SPDX-License-Identifier: Apache-2.0 */
/**
 * CPython 2.7 and 3.6 to 3.15 as a language (interpreters/language.h): debug and free-threaded
 * builds, shared, static and embedded. The data for the kernel side is in ebpf/abi/python.h.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_H
#define INTERPRETERS_PYTHON_PYTHON_H

#include "interpreters/language.h"

extern const struct language python_language;

#endif
