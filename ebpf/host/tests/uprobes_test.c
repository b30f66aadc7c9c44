// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Uprobes on the stack: return probes' trampoline and copied instructions do not show. */
#include "ebpf/host/tests/unwind_fixture.h"

#include "ebpf/kernel_types.bpf.h"

enum {
	RULE_END,
	RULE_CALL,
	RULE_OUTER_CALL,
	RULE_COUNT,
};

#define KERNEL_TASK 0xffff888000001000ULL
#define KERNEL_INSTANCES 0xffff888000002000ULL
#define TRAMPOLINE 0x7fffffffe000ULL

static const struct unwind_rule rules[RULE_COUNT] = {
	[RULE_END] = { .cfa = CFA_END },
	[RULE_CALL] = CALL_RULE(16),
	[RULE_OUTER_CALL] = CALL_RULE(16),
};

struct probes {
	struct uprobe_task task;
	struct return_instance instances[32];
};

/* @count return probes, innermost first, whose return addresses are at the words @words. */
static void set_probes(struct world *world, struct probes *probes, int count, const uint32_t *words,
		       const uint64_t *return_addresses)
{
	memset(probes, 0, sizeof(*probes));
	for (int i = 0; i < count; i++) {
		uint64_t next = KERNEL_INSTANCES + (i + 1) * sizeof(probes->instances[0]);

		probes->instances[i].stack = stack_address(words[i]);
		probes->instances[i].orig_ret_vaddr = return_addresses[i];
		probes->instances[i].next = i + 1 < count ? (void *)next : NULL;
	}
	if (count)
		probes->task.return_instances = (void *)KERNEL_INSTANCES;
	world->kernel[0] = (struct region){ KERNEL_TASK, sizeof(probes->task), &probes->task };
	world->kernel[1] =
		(struct region){ KERNEL_INSTANCES, sizeof(probes->instances), probes->instances };
	world->start.uprobe_task = KERNEL_TASK;
	world_publish_rules(world, rules, RULE_COUNT);
}

static void return_probes_do_not_show(void **state)
{
	static const uint32_t words[] = { 1, 5 };
	const uint64_t return_addresses[] = { code_at(RULE_CALL), code_at(RULE_END) };
	struct world *world = *state;
	struct probes probes;

	set_probes(world, &probes, 2, words, return_addresses);
	world_set_registers(world, code_at(RULE_CALL), stack_address(0), 0);
	world->stack[1] = TRAMPOLINE;
	world->stack[3] = code_at(RULE_OUTER_CALL);
	world->stack[5] = TRAMPOLINE;
	world_unwind(world);
	assert_end(world, 4);
	assert_frame(world, 1, code_at(RULE_CALL), FRAME_RETURN_ADDRESS);
	assert_frame(world, 2, code_at(RULE_OUTER_CALL), FRAME_RETURN_ADDRESS);
	assert_frame(world, 3, code_at(RULE_END), FRAME_RETURN_ADDRESS);
	assert_int_equal(world->trace.unknown_address, 0);
}

static void probes_of_frames_left_by_longjmp_are_passed(void **state)
{
	static const uint32_t words[] = { 100, 101, 102, 401 };
	const uint64_t return_addresses[] = { 1, 2, 3, code_at(RULE_END) };
	struct world *world = *state;
	struct probes probes;

	set_probes(world, &probes, 4, words, return_addresses);
	world_set_registers(world, code_at(RULE_CALL), stack_address(400), 0);
	world->stack[401] = TRAMPOLINE;
	world_unwind(world);
	assert_end(world, 2);
}

static void a_trampoline_without_its_probe_ends_the_unwind(void **state)
{
	static const uint32_t words[] = { 3 };
	const uint64_t return_addresses[] = { code_at(RULE_END) };
	struct world *world = *state;
	struct probes probes;

	set_probes(world, &probes, 1, words, return_addresses);
	world_set_registers(world, code_at(RULE_CALL), stack_address(0), 0);
	world->stack[1] = TRAMPOLINE;
	world_unwind(world);
	assert_error(world, 1, UNWIND_NO_MAPPING, TRAMPOLINE);

	world->kernel[0].size = 0;
	world_unwind(world);
	assert_error(world, 1, UNWIND_NO_MAPPING, TRAMPOLINE);
}

static void a_ring_of_probes_ends_the_unwind(void **state)
{
	static const uint32_t words[] = { 0 };
	const uint64_t return_addresses[] = { code_at(RULE_END) };
	struct world *world = *state;
	struct probes probes;

	set_probes(world, &probes, 1, words, return_addresses);
	probes.instances[0].next = (void *)KERNEL_INSTANCES;
	world_set_registers(world, code_at(RULE_CALL), stack_address(0), 0);
	world->stack[1] = TRAMPOLINE;
	world_unwind(world);
	assert_error(world, 1, UNWIND_NO_MAPPING, TRAMPOLINE);
}

static void a_sample_inside_the_trampoline_belongs_to_the_caller(void **state)
{
	static const uint32_t words[] = { 9 };
	const uint64_t return_addresses[] = { code_at(RULE_CALL) };
	struct world *world = *state;
	struct probes probes;

	set_probes(world, &probes, 1, words, return_addresses);
	world->stack[11] = code_at(RULE_END);
	/* Its return address has been popped, and up to three registers pushed. */
	for (uint32_t sp = 10; sp >= 7; sp--) {
		world_set_registers(world, TRAMPOLINE + 5, stack_address(sp), 0);
		world_unwind(world);
		assert_end(world, 2);
		assert_frame(world, 0, code_at(RULE_CALL), FRAME_RETURN_ADDRESS);
	}
}

static void a_copied_instruction_is_where_the_original_is(void **state)
{
	struct world *world = *state;
	struct probes probes;

	set_probes(world, &probes, 0, NULL, NULL);
	probes.task.xol_vaddr = TRAMPOLINE + 128;
	probes.task.vaddr = code_at(RULE_CALL);
	world->stack[1] = code_at(RULE_END);
	for (int done = 0; done < 4; done++) {
		world_set_registers(world, TRAMPOLINE + 128 + done, stack_address(0), 0);
		world_unwind(world);
		assert_end(world, 2);
		assert_frame(world, 0, code_at(RULE_CALL) + done, 0);
	}

	world_set_registers(world, TRAMPOLINE + 256, stack_address(0), 0);
	world_unwind(world);
	assert_error(world, 0, UNWIND_NO_MAPPING, TRAMPOLINE + 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(return_probes_do_not_show),
		world_test(probes_of_frames_left_by_longjmp_are_passed),
		world_test(a_trampoline_without_its_probe_ends_the_unwind),
		world_test(a_ring_of_probes_ends_the_unwind),
		world_test(a_sample_inside_the_trampoline_belongs_to_the_caller),
		world_test(a_copied_instruction_is_where_the_original_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
