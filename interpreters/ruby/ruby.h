/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Ruby (MRI) 2.7, 3.1, 3.3 and 3.4 as a language (interpreters/language.h), interpreted: libruby, and programs with an
 * embedded one. The data for the kernel side is in ebpf/abi/ruby.h.
 */
#ifndef INTERPRETERS_RUBY_RUBY_H
#define INTERPRETERS_RUBY_RUBY_H

#include "interpreters/language.h"

extern const struct language ruby_language;

#endif
