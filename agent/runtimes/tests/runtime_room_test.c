/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/runtimes/runtime_room.h"
#include "agent/runtimes/tests/fake_language.h"
#include "agent/runtimes/tests/file_memory.h"

enum { MEMORY = 1, GONE, OTHER, RUNTIME, FRAMES = 3 };

struct fixture {
	struct runtime_room *room;
	struct name_answers answers;
	struct name_query queries[FRAMES];
};

/* The memory of a process, which holds @text at address 0; empty: the process is gone. */
static void add_memory(struct fixture *fixture, uint64_t id, const char *text)
{
	int fd = memfd_create("memory", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(runtime_room_add_memory(fixture->room, id, file_memory_create(fd)), 0);
	close(fd);
}

static int set_up(void **state)
{
	static const struct runtime_file file = { .language = &language_of_fakes };
	const struct room_target target = { .pid = 7, .memory_id = MEMORY };
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct runtime *process;

	fake_language_init("");
	fixture->room = runtime_room_create();
	add_memory(fixture, MEMORY, "own");
	add_memory(fixture, GONE, "");
	add_memory(fixture, OTHER, "parent");
	assert_int_equal(runtime_room_attach(fixture->room, RUNTIME, &file, &target, &process), 0);
	assert_int_equal(*(const uint64_t *)process->data, 7);
	for (uint32_t i = 0; i < FRAMES; i++)
		fake_frame(fixture->queries[i].words, 0x100 * (i + 1), i, 77);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	runtime_room_destroy(fixture->room);
	assert_int_equal(fake_language.detach_count, 1);
	name_answers_deinit(&fixture->answers);
	free(fixture);
	return 0;
}

static const struct name_answer *name(struct fixture *fixture, uint64_t runtime,
				      uint64_t first_memory, uint64_t second_memory)
{
	const struct room_names names = {
		.runtime_id = runtime,
		.memory_count = second_memory ? 2 : 1,
		.memory_ids = { first_memory, second_memory },
		.queries = fixture->queries,
		.query_count = FRAMES,
	};

	name_answers_clear(&fixture->answers);
	assert_int_equal(runtime_room_name(fixture->room, &names, 1000, &fixture->answers), 0);
	assert_true(name_answers_are_valid(&fixture->answers, FRAMES));
	return fixture->answers.answers.items;
}

static void all_frames_of_a_stack_are_named_at_once(void **state)
{
	struct fixture *fixture = *state;
	const struct name_answer *answers;

	fixture->queries[1].words[1] = 78;
	fixture->queries[2].object = 9;
	answers = name(fixture, RUNTIME, MEMORY, 0);
	assert_int_equal(answers[0].err, 0);
	assert_string_equal(name_answers_frame(&fixture->answers, &answers[0], 0).function, "f100");
	assert_int_equal(answers[0].object, 0x101);
	assert_int_equal(answers[1].err, -ESTALE);
	assert_string_equal(name_answers_frame(&fixture->answers, &answers[2], 0).function, "f300");
	assert_int_equal(fake_language.object, 9);
	assert_int_equal(fake_language.byte, 'w');
}

static void a_process_that_is_gone_is_named_by_the_next_memory(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(name(fixture, RUNTIME, GONE, OTHER)[0].err, 0);
	assert_int_equal(fake_language.byte, 'a');
	assert_int_equal(name(fixture, RUNTIME, GONE, 0)[0].err, -ESRCH);
}

static void what_was_removed_names_nothing(void **state)
{
	struct fixture *fixture = *state;

	runtime_room_remove_memory(fixture->room, MEMORY);
	assert_int_equal(name(fixture, RUNTIME, MEMORY, 0)[0].err, -ESRCH);
	runtime_room_remove_runtime(fixture->room, RUNTIME);
	assert_int_equal(name(fixture, RUNTIME, OTHER, 0)[0].err, -ESRCH);
	/* Once more, and what never was. */
	runtime_room_remove_runtime(fixture->room, RUNTIME);
	runtime_room_remove_memory(fixture->room, 99);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(all_frames_of_a_stack_are_named_at_once),
		TEST(a_process_that_is_gone_is_named_by_the_next_memory),
		TEST(what_was_removed_names_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
