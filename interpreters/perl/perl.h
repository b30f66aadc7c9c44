/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Perl 5.32, 5.36, 5.40 and 5.42 as a language (interpreters/language.h), built with threads: the program perl, and libperl in
 * programs that embed it. The data for the kernel side is in ebpf/abi/perl.h.
 */
#ifndef INTERPRETERS_PERL_PERL_H
#define INTERPRETERS_PERL_PERL_H

#include "interpreters/language.h"

extern const struct language perl_language;

#endif
