/* SPDX-License-Identifier: Apache-2.0 */
/** What an instruction of arm64 does: code_step.h says how that is told. */
#ifndef STACKDELTAS_CODE_ARM64_STEP_H
#define STACKDELTAS_CODE_ARM64_STEP_H

#include "stackdeltas/code/code_step.h"

code_step_function arm64_step;

#endif
