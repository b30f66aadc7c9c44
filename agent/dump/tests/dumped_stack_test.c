// SPDX-License-Identifier: Apache-2.0
#include "agent/dump/dumped_stack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ebpf/abi/frame.h"

/* A process with a thread that waits, and one that was not stopped. */
static struct dumped_process make_process(void)
{
	struct dumped_process process = { .pid = 12,
					  .name = "prog",
					  .command = strdup("./prog -x") };
	struct dumped_thread waiting = { .tid = 12,
					 .name = "prog",
					 .state = "waiting in futex",
					 .was_stopped = true,
					 .after_ns = 0,
					 .still_ns = 321000 };
	struct dumped_thread traced = { .tid = 13,
					.name = "w\"\\\n",
					.state = "stopped",
					.why = "not stopped: traced by gdb (7)" };

	dumped_thread_add(&waiting, (struct dumped_frame){ .flags = DUMPED_INLINED }, "futex",
			  "/lib/libc.so.6");
	dumped_thread_add(&waiting, (struct dumped_frame){ .language = FRAME_PYTHON, .line = 7 },
			  "f", "/opt/a.py");
	dumped_thread_add(&waiting, (struct dumped_frame){ .flags = DUMPED_GUESS }, "0x123",
			  "/bin/prog");
	dumped_thread_add(&traced, (struct dumped_frame){ .flags = DUMPED_KERNEL }, "schedule",
			  NULL);
	assert_int_equal(dumped_thread_vector_push(&process.threads, waiting), 0);
	assert_int_equal(dumped_thread_vector_push(&process.threads, traced), 0);
	return process;
}

static void a_text_has_a_line_for_each_frame(void **state)
{
	struct dumped_process process = make_process();
	struct text_builder text = { 0 };

	(void)state;
	dumped_process_append_text(&process, &text);
	assert_string_equal(text_builder_text(&text), "process 12 prog: ./prog -x\n"
						      "  thread 12 prog: waiting in futex\n"
						      "    #0   futex (libc.so.6) [inlined]\n"
						      "    #1   f (a.py:7) [python]\n"
						      "    #2   0x123 (prog) [guess]\n"
						      "  thread 13 w\"\\ : stopped\n"
						      "    #0   schedule [kernel]\n"
						      "    (not stopped: traced by gdb (7))\n");
	text_builder_deinit(&text);
	dumped_process_deinit(&process);
}

static void json_escapes_what_programs_have_chosen(void **state)
{
	struct dumped_process process = make_process();
	struct text_builder text = { 0 };

	(void)state;
	dumped_process_append_json(&process, &text);
	assert_string_equal(
		text_builder_text(&text),
		"{\"pid\":12,\"name\":\"prog\",\"command\":\"./prog -x\",\"threads\":["
		"{\"tid\":12,\"name\":\"prog\",\"state\":\"waiting in futex\",\"stopped\":true,"
		"\"after_us\":0,\"still_us\":321,\"why\":\"\",\"frames\":["
		"{\"function\":\"futex\",\"file\":\"/lib/libc.so.6\",\"line\":0,\"language\":\"native\",\"inlined\":true},"
		"{\"function\":\"f\",\"file\":\"/opt/a.py\",\"line\":7,\"language\":\"python\"},"
		"{\"function\":\"0x123\",\"file\":\"/bin/prog\",\"line\":0,\"language\":\"native\",\"guess\":true}]},"
		"{\"tid\":13,\"name\":\"w\\\"\\\\ \",\"state\":\"stopped\",\"stopped\":false,"
		"\"after_us\":0,\"still_us\":0,\"why\":\"not stopped: traced by gdb (7)\",\"frames\":["
		"{\"function\":\"schedule\",\"file\":\"\",\"line\":0,\"language\":\"kernel\"}]}]}");
	text_builder_deinit(&text);
	dumped_process_deinit(&process);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_has_a_line_for_each_frame),
		cmocka_unit_test(json_escapes_what_programs_have_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
