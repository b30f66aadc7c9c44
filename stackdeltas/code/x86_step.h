/* SPDX-License-Identifier: Apache-2.0 */
/** What an instruction of x86-64 does: code_step.h says how that is told. */
#ifndef STACKDELTAS_CODE_X86_STEP_H
#define STACKDELTAS_CODE_X86_STEP_H

#include "stackdeltas/code/code_step.h"

code_step_function x86_step;

#endif
