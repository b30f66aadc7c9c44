/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows of code that a runtime has made for itself, for languages, which cannot make any
 * (interpreter_target.analyse).
 */
#ifndef AGENT_PROCESSES_RUNTIME_CODE_H
#define AGENT_PROCESSES_RUNTIME_CODE_H

#include "agent/base/stack_deltas.h"
#include "interpreters/interpreter.h"

/** As interpreter_target.analyse; any thread. The caller deinits @deltas. */
int runtime_code_analyse(uint16_t machine, const struct interpreter_code *code, size_t count,
			 struct stack_deltas *deltas);

#endif
