/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Analyses the instructions of code that a runtime has generated for itself, on behalf of languages, which
 * cannot decode instructions (struct attach_target).
 */
#ifndef AGENT_RUNTIMES_RUNTIME_CODE_H
#define AGENT_RUNTIMES_RUNTIME_CODE_H

#include "interpreters/language.h"
#include "lib/model/stack_deltas.h"

/** Implements attach_target.analyse; any thread. The caller deinits @deltas. */
int runtime_code_analyse(uint16_t machine, const struct runtime_code *code, size_t count,
			 struct stack_deltas *deltas);

runtime_find_jump runtime_code_find_jump;

#endif
