/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/thread_local.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interpreters/call_evaluator_arm64.h"
#include "interpreters/call_evaluator_x86.h"
#include "interpreters/unbound_call.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

enum { X86_ARGUMENT = 7, X86_STACK_POINTER = 4, X86_RESULT = 0, ARM64_STACK_POINTER = 31 };

static int result_to_loads(const struct value *value, uint64_t function,
			   struct thread_local_loads *loads)
{
	if (value->kind == VALUE_NUMBER && !value->number)
		return fail(-EAGAIN, "the function at %#" PRIx64 " gives nothing yet", function);
	if (value->kind != VALUE_THREAD || !value->depth || value->number)
		return fail(-EOPNOTSUPP, "the function at %#" PRIx64 " gives no word of the thread",
			    function);
	memset(loads, 0, sizeof(*loads));
	for (uint32_t i = 0; i < value->depth; i++)
		loads->offsets[i] = value->offsets[i];
	loads->count = value->depth;
	return 0;
}

int thread_local_loads_of_call(const struct attach_target *target, uint16_t machine,
			       uint64_t function, uint64_t argument,
			       struct thread_local_loads *loads)
{
	bool is_x86 = machine == EM_X86_64;
	struct evaluator evaluator = { .memory = target->memory,
				       .target = target,
				       .deadline_ns =
					       clock_thread_cpu_ns() + UNBOUND_CALL_MAX_CPU_NS,
				       .pc = function };
	uint32_t steps = 0;
	int err = 0;

	if (!is_x86 && machine != EM_AARCH64)
		return fail(-EOPNOTSUPP, "machine %u", machine);
	evaluator.registers[is_x86 ? X86_ARGUMENT : 0] = value_number(argument, false);
	evaluator.registers[is_x86 ? X86_STACK_POINTER : ARM64_STACK_POINTER] =
		(struct value){ .kind = VALUE_STACK };
	while (!err && !evaluator.is_done) {
		if (++steps > EVALUATOR_MAX_STEPS)
			return fail(-EOPNOTSUPP, "the function at %#" PRIx64 " is too long",
				    function);
		err = is_x86 ? evaluator_step_x86(&evaluator) : evaluator_step_arm64(&evaluator);
	}
	/* X86_RESULT is x0 as well. */
	return err ? err : result_to_loads(&evaluator.registers[X86_RESULT], function, loads);
}

int thread_local_path_of_call(const struct attach_target *target, uint16_t machine,
			      uint64_t function, uint64_t argument, struct thread_local_path *path)
{
	struct thread_local_loads loads;
	int err = thread_local_loads_of_call(target, machine, function, argument, &loads);

	if (err)
		return err;
	if (loads.count > THREAD_LOCAL_MAX_DEPTH)
		return fail(-EOPNOTSUPP, "the function at %#" PRIx64 " loads %u words", function,
			    loads.count);
	*path = (struct thread_local_path){ .depth = loads.count };
	memcpy(path->offsets, loads.offsets, sizeof(path->offsets));
	return 0;
}
