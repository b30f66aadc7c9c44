/* SPDX-License-Identifier: Apache-2.0 */
/**
 * PHP as a language (interpreters/language.h), interpreted: programs with an embedded PHP. The data for the kernel side
 * is in ebpf/abi/php.h.
 */
#ifndef INTERPRETERS_PHP_PHP_H
#define INTERPRETERS_PHP_PHP_H

#include "interpreters/language.h"

extern const struct language php_language;

#endif
