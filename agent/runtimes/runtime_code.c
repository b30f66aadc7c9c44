/* SPDX-License-Identifier: Apache-2.0 */
/* Makes rows from chunks of code, and follows jumps. */
#include "agent/runtimes/runtime_code.h"

#include <elf.h>
#include <errno.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "stackdeltas/code/arm64_step.h"
#include "stackdeltas/code/code_analysis.h"
#include "stackdeltas/code/x86_step.h"
#include "stackdeltas/delta_builder.h"

enum {
	/* An estimate; HotSpot's stubs have a row in 45 to 90 bytes. */
	BYTES_PER_ROW = 64,
};

static int add_row(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct delta_builder *builder = context;
	uint32_t id;
	int err = delta_builder_intern(builder, rule, &id);

	return err ? err : delta_builder_add(builder, address, id);
}

/* Adds the row of code that was just called and does not move the stack pointer. */
static int add_flat(struct delta_builder *builder, uint16_t machine, uint64_t address)
{
	struct unwind_rule rule = { .cfa = CFA_SP };

	if (machine == EM_X86_64) {
		rule.cfa_offset = 8;
		rule.ra = SAVED_AT_CFA;
		rule.ra_offset = -8;
	}
	return add_row(builder, address, &rule);
}

static int add_chunk(struct delta_builder *builder, uint16_t machine,
		     const struct runtime_code *code)
{
	const struct code_bytes range = { code->address, code->bytes, code->size };
	const struct code_analysis_input input = {
		.machine = machine,
		.ranges = &range,
		.range_count = 1,
		.starts = code->starts,
		.start_count = code->start_count,
		.is_hotspot = true,
		.is_thrown_to = code->is_thrown_to,
		.frame_bytes = code->frame_bytes,
	};
	const struct code_row_handler handler = { .context = builder, .row = add_row };

	if (code->is_flat)
		return add_flat(builder, machine, code->address);
	return code_analysis_run(&input, &handler, NULL);
}

int runtime_code_analyse(uint16_t machine, const struct runtime_code *code, size_t count,
			 struct stack_deltas *deltas)
{
	_cleanup_(delta_builder_deinit) struct delta_builder builder = { 0 };
	size_t bytes = 0;
	int err;

	if (!count)
		return fail(-EINVAL, "no code");
	for (size_t i = 0; i < count; i++)
		bytes += code[i].size;
	err = delta_builder_init(&builder, code->address,
				 code[count - 1].address + code[count - 1].size,
				 bytes / BYTES_PER_ROW);
	for (size_t i = 0; i < count && !err; i++) {
		uint64_t end = code[i].address + code[i].size;

		err = add_chunk(&builder, machine, &code[i]);
		if (!err && i + 1 < count && end < code[i + 1].address)
			err = delta_builder_add(&builder, end, DELTA_RULE_NONE);
	}
	return err ? err : delta_builder_finish(&builder, deltas);
}

static bool goes_on(const struct code_step *step)
{
	switch (step->flow) {
	case CODE_FLOW_NEXT:
	case CODE_FLOW_NOP:
	case CODE_FLOW_CALL:
	case CODE_FLOW_CALL_INDIRECT:
	case CODE_FLOW_BRANCH:
	case CODE_FLOW_SYSCALL:
		return step->length > 0;
	default:
		return false;
	}
}

int64_t runtime_code_find_jump(uint16_t machine, const uint8_t *bytes, size_t size, int64_t low,
			       int64_t high)
{
	code_step_function *decode = machine == EM_X86_64 ? x86_step : arm64_step;
	struct code_step step;

	for (size_t at = 0; at < size; at += step.length) {
		decode(bytes + at, size - at, NULL, &step);
		if (step.flow == CODE_FLOW_JUMP || step.flow == CODE_FLOW_BRANCH) {
			int64_t target = (int64_t)at + step.target;

			if (target >= low && target <= high)
				return target;
		}
		if (!goes_on(&step))
			break;
	}
	return 0;
}
