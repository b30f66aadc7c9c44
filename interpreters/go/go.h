/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Go. Its functions are native frames: unwind rows find them and the outputs name them, so there is nothing to
 * symbolize here. This module finds where a stack continues when the runtime switches stacks (ebpf/abi/go.h).
 */
#ifndef INTERPRETERS_GO_GO_H
#define INTERPRETERS_GO_GO_H

#include "interpreters/language.h"

extern const struct language go_language;

#endif
