/* SPDX-License-Identifier: Apache-2.0 */
/**
 * JavaScript: V8 in Node.js and libnode.so, found by the symbols that these export for debuggers (v8_layout.h).
 * ebpf/javascript/javascript_step.bpf.h describes how the kernel side unwinds its frames.
 */
#ifndef INTERPRETERS_JAVASCRIPT_JAVASCRIPT_H
#define INTERPRETERS_JAVASCRIPT_JAVASCRIPT_H

#include "interpreters/language.h"

extern const struct language javascript_language;

#endif
