/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of functions of arm64 that are not all along as the sizes of their frames say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ebpf/abi/go.h"
#include "stackdeltas/tests/go_code_fixture.h"

static const struct unwind_rule *rule_at(const struct fixture *fixture, uint32_t offset)
{
	return stack_deltas_lookup(&fixture->deltas, TEXT + offset);
}

static void on_arm64_the_pc_tells_where_stacks_are_changed(void **state)
{
	/* mov sp,x0; nop; blr x1; mov sp,x5 */
	static const uint32_t call[] = { 0x9100001f, 0xd503201f, 0xd63f0020, 0x910000bf };
	/* bl; mov sp,x0 */
	static const uint32_t leaving[] = { 0x94000000, 0x9100001f };
	/* sub sp,sp,#192; stp x29,x30,[sp,#176]; nop; ldp x29,x30,[sp,#176]; add; ret */
	static const uint32_t from_c[] = { 0xd10303ff, 0xa90b7bfd, 0xd503201f,
					   0xa94b7bfd, 0x910303ff, 0xd65f03c0 };
	static const struct made_value framed[] = { { 16, FUNCTION }, { 0, 0 } };
	static const struct made_value bare[] = { { 0, FUNCTION }, { 0, 0 } };
	static const struct made_value own[] = { { 0, 4 }, { 192, 20 }, { 0, FUNCTION }, { 0, 0 } };
	/* Room is made below the frame for a while. */
	static const struct made_value room[] = {
		{ 0, 4 }, { 16, 8 }, { 32, 16 }, { 16, FUNCTION }, { 0, 0 }
	};
	struct fixture *fixture = *state;
	uint8_t *text = fixture->go.bytes + MADE_GO_TEXT;

	fixture->go.machine = EM_AARCH64;
	add(fixture, "runtime.asmcgocall", FLAGGED, framed);
	add(fixture, "runtime.morestack", FLAGGED, bare);
	add(fixture, "crosscall2", FLAGGED, own);
	add(fixture, "runtime.callCgoMmap", FLAGGED, room);
	/* Where its stack was is in x19 alone, its return address in x20. */
	add(fixture, "racecall", FLAGGED, bare);
	memcpy(text, call, sizeof(call));
	memcpy(text + FUNCTION, leaving, sizeof(leaving));
	memcpy(text + 2 * FUNCTION, from_c, sizeof(from_c));
	make_rows(fixture);
	for (uint32_t at = 0; at < FUNCTION; at++) {
		const struct unwind_rule *rule = rule_at(fixture, at);
		bool is_calling = at >= 4 && at < 8, is_saved = at >= 8 && at < 16;

		assert_int_equal(rule->cfa == CFA_REGISTER, is_calling);
		if (!is_calling)
			assert_row(fixture, at, at >= 8 && at < 16 ? GO_SWITCH_ASMCGOCALL : 0, 16);
		if (at >= 4)
			assert_row(fixture, FUNCTION + at, GO_SWITCH_MORESTACK, 0);
		rule = rule_at(fixture, 2 * FUNCTION + at);
		assert_int_equal(rule->ra, is_saved ? SAVED_AT_SP : SAVED_SAME);
		assert_int_equal(rule->ra_offset, is_saved ? 184 : 0);
		rule = rule_at(fixture, 3 * FUNCTION + at);
		assert_int_equal(rule->ra, at < 4 ? SAVED_SAME : SAVED_AT_SP);
		assert_int_equal(rule->ra_offset, at >= 8 && at < 16 ? 16 : 0);
		assert_int_equal(rule_at(fixture, 4 * FUNCTION + at)->cfa, CFA_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(on_arm64_the_pc_tells_where_stacks_are_changed,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
