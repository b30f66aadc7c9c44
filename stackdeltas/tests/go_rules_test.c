/* SPDX-License-Identifier: Apache-2.0 */
/* The roles of Go functions by their names, and the rules of their frames. */
#include "stackdeltas/go_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <string.h>

#include "ebpf/abi/frame.h"
#include "ebpf/abi/go.h"
#include "stackdeltas/rule_text.h"

static uint32_t role_of(const char *name, bool is_flagged, bool has_flags)
{
	char start[GO_RULE_NAME_MAX_BYTES] = { 0 };
	size_t bytes = strlen(name);

	memcpy(start, name, bytes < sizeof(start) ? bytes : sizeof(start));
	return go_role_of(start, is_flagged, has_flags);
}

static struct unwind_rule make(uint16_t machine, uint32_t role, int32_t frame_bytes)
{
	struct unwind_rule rule;

	memset(&rule, 0xee, sizeof(rule));
	go_rule_make(machine, role, frame_bytes, &rule);
	return rule;
}

static void assert_rule(struct unwind_rule rule, struct unwind_rule expected)
{
	assert_memory_equal(&rule, &expected, sizeof(rule));
}

static void functions_that_matter_are_known_by_name(void **state)
{
	static const struct {
		const char *name;
		uint32_t role;
	} known[] = {
		{ "runtime.goexit", GO_ROLE_END },
		{ "runtime.mstart", GO_ROLE_END },
		{ "runtime.rt0_go", GO_ROLE_END },
		{ "_rt0_amd64_linux", GO_ROLE_END },
		{ "_rt0_arm64_linux", GO_ROLE_END },
		{ "runtime.systemstack", GO_SWITCH_SYSTEMSTACK },
		{ "runtime.mcall", GO_SWITCH_MCALL },
		{ "runtime.morestack", GO_SWITCH_MORESTACK },
		{ "runtime.morestack_noctxt", GO_SWITCH_GROWING },
		{ "runtime.asmcgocall", GO_SWITCH_ASMCGOCALL },
		{ "runtime.cgocallback", GO_SWITCH_CGOCALLBACK },
		{ "runtime.nanotime1", GO_SWITCH_VDSO },
		{ "runtime.walltime", GO_SWITCH_VDSO },
		{ "runtime.vgetrandom1", GO_SWITCH_VDSO },
		{ "time.now", GO_SWITCH_VDSO },
		{ "gogo", GO_SWITCH_GOGO },
		{ "runtime.gogo", GO_SWITCH_GOGO },
		{ "runtime.execute", GO_SWITCH_EXECUTE },
		{ "runtime.clone", GO_SWITCH_CLONE },
		{ "runtime.sigpanic", GO_SWITCH_INJECTED },
		{ "runtime.recovery", GO_SWITCH_RECOVERY },
		{ "runtime.asyncPreempt", GO_SWITCH_INJECTED },
		{ "runtime.sigreturn", GO_ROLE_SIGNAL_RETURN },
		{ "runtime.sigreturn__sigaction", GO_ROLE_SIGNAL_RETURN },
		{ "crosscall2", GO_ROLE_FROM_C },
		{ "runtime.sigfwd", GO_ROLE_ALIGNS },
		{ "syscall.rawVforkSyscall", GO_ROLE_VFORK },
		{ "racecall", GO_ROLE_LEAVES },
		{ "end_of_function", GO_ROLE_LEAVES },
		{ "runtime.libfuzzerCallWithTwoByteBuffers", GO_ROLE_LEAVES },
	};
	static const char *const ordinary[] = {
		"",
		"main.main",
		"runtime.goexit1",
		"runtime.systemstack_switch",
		"runtime.mcal",
		"runtime.cgocallbackg",
		"runtime.goexit.func1.with.a.name.that.is.longer.than.what.is.looked.at",
		"time.nower",
		"crosscall",
		"racecallatomic",
		"runtime.racecall",
		"runtime.libfuzzerCallWithTwoByteBuffersAndOthers",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_int_equal(role_of(known[i].name, true, true), known[i].role);
		/* Up to 1.16 there are no flags. */
		assert_int_equal(role_of(known[i].name, false, false), known[i].role);
	}
	for (size_t i = 0; i < sizeof(ordinary) / sizeof(ordinary[0]); i++)
		assert_int_equal(role_of(ordinary[i], true, true), GO_ROLE_ORDINARY);
}

static void wrappers_have_names_and_no_flags(void **state)
{
	(void)state;
	assert_int_equal(role_of("runtime.systemstack", false, true), GO_ROLE_ORDINARY);
	assert_int_equal(role_of("runtime.goexit", false, true), GO_ROLE_ORDINARY);
	assert_int_equal(role_of("time.now", false, true), GO_ROLE_ORDINARY);
	/* These have none themselves. */
	assert_int_equal(role_of("runtime.execute", false, true), GO_SWITCH_EXECUTE);
	assert_int_equal(role_of("runtime.sigreturn__sigaction", false, true),
			 GO_ROLE_SIGNAL_RETURN);
	assert_int_equal(role_of("crosscall2", false, true), GO_ROLE_FROM_C);
}

static void frames_of_x86_have_the_return_address_on_top(void **state)
{
	struct unwind_rule expected = { .cfa = CFA_SP,
					.cfa_offset = 8,
					.ra = SAVED_AT_CFA,
					.ra_offset = -8,
					.fp = SAVED_UNDEFINED,
					.rbx_slot = RBX_LOST };

	(void)state;
	assert_rule(make(EM_X86_64, GO_ROLE_ORDINARY, 0), expected);
	expected.cfa_offset = 0x68 + 8;
	assert_rule(make(EM_X86_64, GO_ROLE_ORDINARY, 0x68), expected);
	expected.cfa = CFA_REGISTER;
	expected.cfa_register = 3;
	go_rule_make_in_register(GO_ROLE_ALIGNS, 0x68, &expected);
	assert_int_equal(expected.cfa, CFA_REGISTER);
	assert_int_equal(expected.cfa_register, 3);
	assert_int_equal(expected.cfa_offset, 0x68 + 8);
	assert_int_equal(expected.ra, SAVED_AT_CFA);
	go_rule_make_in_register(GO_ROLE_ALIGNS, -1, &expected);
	assert_int_equal(expected.cfa, CFA_NONE);
	go_rule_make_in_register(GO_ROLE_LEAVES, 0, &expected);
	assert_int_equal(expected.cfa, CFA_REGISTER);
	assert_int_equal(expected.cfa_register, 12);
	assert_int_equal(expected.cfa_offset, 8);
	assert_int_equal(expected.flags, RULE_SWITCHES_STACK);
}

static void frames_of_arm64_have_it_at_their_lower_end(void **state)
{
	struct unwind_rule expected = {
		.cfa = CFA_SP, .ra = SAVED_SAME, .fp = SAVED_UNDEFINED, .rbx_slot = RBX_LOST
	};

	(void)state;
	assert_rule(make(EM_AARCH64, GO_ROLE_ORDINARY, 0), expected);
	expected.cfa_offset = 0x70;
	expected.ra = SAVED_AT_SP;
	assert_rule(make(EM_AARCH64, GO_ROLE_ORDINARY, 0x70), expected);
}

static void unknown_sizes_are_no_rules(void **state)
{
	const struct unwind_rule none = { .cfa = CFA_NONE };

	(void)state;
	assert_rule(make(EM_X86_64, GO_ROLE_ORDINARY, -1), none);
	assert_rule(make(EM_X86_64, GO_ROLE_ORDINARY, -8), none);
	assert_rule(make(EM_X86_64, GO_ROLE_ORDINARY, INT32_MIN), none);
	assert_rule(make(EM_X86_64, GO_ROLE_ORDINARY, INT32_MAX - 7), none);
	assert_int_equal(make(EM_X86_64, GO_ROLE_ORDINARY, INT32_MAX - 8).cfa, CFA_SP);
	assert_rule(make(EM_X86_64, GO_SWITCH_MCALL, -1), none);
	assert_rule(make(EM_X86_64, GO_ROLE_VFORK, -1), none);
}

static void switches_tell_which_and_how_far_the_caller_is(void **state)
{
	struct unwind_rule expected;

	(void)state;
	for (uint32_t kind = GO_SWITCH_SYSTEMSTACK; kind <= GO_SWITCH_RECOVERY; kind++) {
		expected = make(EM_X86_64, GO_ROLE_ORDINARY, 8);
		expected.cfa = CFA_LANGUAGE;
		expected.cfa_addend = FRAME_GO;
		expected.cfa_register = kind;
		assert_int_equal(expected.cfa_offset, 16);
		assert_rule(make(EM_X86_64, kind, 8), expected);
		expected = make(EM_AARCH64, GO_ROLE_ORDINARY, 0);
		expected.cfa = CFA_LANGUAGE;
		expected.cfa_addend = FRAME_GO;
		expected.cfa_register = kind;
		assert_int_equal(expected.cfa_offset, 0);
		assert_rule(make(EM_AARCH64, kind, 0), expected);
	}
}

static void switches_have_a_text_of_their_own(void **state)
{
	const struct unwind_rule rule = make(EM_X86_64, GO_SWITCH_MCALL, 8);
	char text[RULE_TEXT_MAX_BYTES];

	(void)state;
	rule_text(&rule, EM_X86_64, text);
	assert_string_equal(text, "cfa=go2(sp+16) ra=cfa-8 fp=undefined rbx=undefined");
}

static void ends_and_returns_from_signals_need_no_sizes(void **state)
{
	const struct unwind_rule end = { .cfa = CFA_END }, back = { .cfa = CFA_SIGNAL };

	(void)state;
	assert_rule(make(EM_X86_64, GO_ROLE_END, 8), end);
	assert_rule(make(EM_AARCH64, GO_ROLE_END, -1), end);
	assert_rule(make(EM_X86_64, GO_ROLE_SIGNAL_RETURN, 0), back);
	assert_rule(make(EM_AARCH64, GO_ROLE_SIGNAL_RETURN, -1), back);
}

static void what_c_calls_keeps_c_s_frame_pointer(void **state)
{
	struct unwind_rule rule = make(EM_X86_64, GO_ROLE_FROM_C, 0);

	(void)state;
	assert_int_equal(rule.fp, SAVED_SAME);
	assert_int_equal(rule.cfa_offset, 8);
	rule = make(EM_X86_64, GO_ROLE_FROM_C, 0x40);
	assert_int_equal(rule.fp, SAVED_AT_CFA);
	assert_int_equal(rule.fp_offset, -16);
	assert_int_equal(rule.ra_offset, -8);
	assert_int_equal(rule.cfa_offset, 0x48);
	rule = make(EM_AARCH64, GO_ROLE_FROM_C, 0);
	assert_int_equal(rule.fp, SAVED_SAME);
	assert_int_equal(rule.ra, SAVED_SAME);
	/* It stores them a few instructions later. */
	rule = make(EM_AARCH64, GO_ROLE_FROM_C, 0xc0);
	assert_int_equal(rule.fp, SAVED_SAME);
	assert_int_equal(rule.ra, SAVED_SAME);
	assert_int_equal(rule.cfa_offset, 0xc0);
	go_rule_make_saved(0xc0, 0x70, &rule);
	assert_int_equal(rule.fp, SAVED_AT_SP);
	assert_int_equal(rule.fp_offset, 0x70);
	assert_int_equal(rule.ra, SAVED_AT_SP);
	assert_int_equal(rule.ra_offset, 0x78);
	assert_int_equal(rule.cfa_offset, 0xc0);
	go_rule_make_saved(0x70, 0x70, &rule);
	assert_int_equal(rule.ra, SAVED_SAME);
	go_rule_make_saved(-1, 0x70, &rule);
	assert_int_equal(rule.cfa, CFA_NONE);
}

static void a_call_of_c_has_the_stack_pointer_in_a_register(void **state)
{
	struct unwind_rule rule;

	(void)state;
	go_rule_make_calling(EM_X86_64, 0x40, &rule);
	assert_int_equal(rule.cfa, CFA_REGISTER);
	assert_int_equal(rule.cfa_register, 1);
	assert_int_equal(rule.cfa_offset, 0x48);
	assert_int_equal(rule.ra, SAVED_AT_CFA);
	assert_int_equal(rule.ra_offset, -8);
	assert_int_equal(rule.flags, RULE_SWITCHES_STACK);
	go_rule_make_calling(EM_AARCH64, 0x10, &rule);
	assert_int_equal(rule.cfa, CFA_REGISTER);
	assert_int_equal(rule.cfa_register, 2);
	assert_int_equal(rule.cfa_offset, 0x10);
	assert_int_equal(rule.ra, SAVED_AT_CFA);
	assert_int_equal(rule.ra_offset, -0x10);
	assert_int_equal(rule.flags, RULE_SWITCHES_STACK);
	go_rule_make_calling(EM_AARCH64, -1, &rule);
	assert_int_equal(rule.cfa, CFA_NONE);
}

static void what_was_injected_pops_more_than_its_frame_on_arm64(void **state)
{
	struct unwind_rule rule = make(EM_AARCH64, GO_SWITCH_INJECTED, -16);

	(void)state;
	assert_int_equal(rule.cfa, CFA_LANGUAGE);
	assert_int_equal(rule.cfa_addend, FRAME_GO);
	assert_int_equal(rule.cfa_register, GO_SWITCH_INJECTED);
	assert_int_equal(rule.cfa_offset, -16);
	assert_int_equal(make(EM_AARCH64, GO_SWITCH_INJECTED, -8).cfa, CFA_NONE);
	assert_int_equal(make(EM_AARCH64, GO_ROLE_ORDINARY, -16).cfa, CFA_NONE);
	assert_int_equal(make(EM_X86_64, GO_SWITCH_INJECTED, -16).cfa, CFA_NONE);
}

static void the_beginning_of_growth_is_plain_on_x86(void **state)
{
	(void)state;
	assert_rule(make(EM_X86_64, GO_SWITCH_GROWING, 0), make(EM_X86_64, GO_ROLE_ORDINARY, 0));
	assert_int_equal(make(EM_AARCH64, GO_SWITCH_GROWING, 0).cfa, CFA_LANGUAGE);
	assert_int_equal(make(EM_AARCH64, GO_SWITCH_GROWING, 0).cfa_register, GO_SWITCH_GROWING);
}

static void a_stack_that_is_shared_with_a_child_has_no_return_address(void **state)
{
	struct unwind_rule rule = make(EM_X86_64, GO_ROLE_VFORK, -8);

	(void)state;
	assert_int_equal(rule.cfa, CFA_SP);
	assert_int_equal(rule.cfa_offset, 0);
	assert_int_equal(rule.ra, SAVED_IN_REGISTER);
	assert_int_equal(rule.ra_offset, 12);
	assert_rule(make(EM_X86_64, GO_ROLE_VFORK, 0), make(EM_X86_64, GO_ROLE_ORDINARY, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_that_matter_are_known_by_name),
		cmocka_unit_test(wrappers_have_names_and_no_flags),
		cmocka_unit_test(frames_of_x86_have_the_return_address_on_top),
		cmocka_unit_test(frames_of_arm64_have_it_at_their_lower_end),
		cmocka_unit_test(unknown_sizes_are_no_rules),
		cmocka_unit_test(switches_tell_which_and_how_far_the_caller_is),
		cmocka_unit_test(switches_have_a_text_of_their_own),
		cmocka_unit_test(ends_and_returns_from_signals_need_no_sizes),
		cmocka_unit_test(what_c_calls_keeps_c_s_frame_pointer),
		cmocka_unit_test(a_call_of_c_has_the_stack_pointer_in_a_register),
		cmocka_unit_test(what_was_injected_pops_more_than_its_frame_on_arm64),
		cmocka_unit_test(the_beginning_of_growth_is_plain_on_x86),
		cmocka_unit_test(a_stack_that_is_shared_with_a_child_has_no_return_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
