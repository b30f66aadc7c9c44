/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/call_evaluator.h"
#include <errno.h>
int evaluator_step_arm64(struct evaluator *evaluator)
{
	(void)evaluator;
	return -EOPNOTSUPP;
}
