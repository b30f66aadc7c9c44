/* SPDX-License-Identifier: Apache-2.0 */
/** The effect of an x86-64 instruction: a function as in code_step.h. */
#ifndef STACKDELTAS_CODE_X86_STEP_H
#define STACKDELTAS_CODE_X86_STEP_H

#include "stackdeltas/code/code_step.h"

code_step_function x86_step;

#endif
