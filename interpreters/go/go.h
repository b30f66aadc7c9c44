/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Go. Its functions are native frames, walked by rows and named by the outputs; what is known here is
 * how stacks go on where the runtime changes them (ebpf/abi/go.h). There is nothing to symbolize.
 */
#ifndef INTERPRETERS_GO_GO_H
#define INTERPRETERS_GO_GO_H

#include "interpreters/language.h"

extern const struct language go_language;

#endif
