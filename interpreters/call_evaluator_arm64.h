/* SPDX-License-Identifier: Apache-2.0 */
/** Instructions of arm64 for call_evaluator.h. */
#ifndef INTERPRETERS_CALL_EVALUATOR_ARM64_H
#define INTERPRETERS_CALL_EVALUATOR_ARM64_H

#include "interpreters/call_evaluator.h"

/** Follows the instruction at pc; -EOPNOTSUPP if it cannot be followed, -EFAULT, -ESRCH. */
int evaluator_step_arm64(struct evaluator *evaluator);

#endif
