/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/binary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void a_binary_copies_its_path_and_owns_its_descriptor(void **state)
{
	char path[] = "/usr/bin/cat";
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct binary *binary =
		binary_create(&(struct binary){ .executable_id = 9, .fd = fd, .path = path });

	(void)state;
	assert_non_null(binary);
	memset(path, 'x', sizeof(path) - 1);
	assert_string_equal(binary->path, "/usr/bin/cat");
	assert_string_equal(binary_name(binary), "cat");
	assert_int_equal(binary->executable_id, 9);
	assert_ptr_equal(binary_ref(binary), binary);
	binary_unref(binary);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	binary_unref(binary);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void what_a_file_says_of_itself_is_copied(void **state)
{
	struct program_facts facts = { .languages = language_bit(FRAME_GO) };
	struct binary *binary;
	struct binary *other = binary_create(&(struct binary){ .fd = -1 });

	(void)state;
	program_facts_add(&facts, "process.runtime.version", "go1.26.8", false);
	binary = binary_create(&(struct binary){ .fd = -1, .facts = &facts });
	memset(&facts, 0, sizeof(facts));
	assert_string_equal(binary->facts->items[0].text, "go1.26.8");
	assert_true(binary_has_code_of(binary, FRAME_GO));
	assert_false(binary_has_code_of(binary, FRAME_JAVA));
	assert_null(other->facts);
	assert_false(binary_has_code_of(other, FRAME_GO));
	binary_unref(binary);
	binary_unref(other);
}

static void facts_without_room_are_left_out(void **state)
{
	char longest[PROGRAM_FACT_MAX_BYTES + 2] = "";
	struct program_facts facts = { 0 };

	(void)state;
	memset(longest, 'x', PROGRAM_FACT_MAX_BYTES + 1);
	program_facts_add(&facts, "k", longest, false);
	program_facts_add(&facts, "k", "", false);
	assert_int_equal(facts.count, 0);
	longest[PROGRAM_FACT_MAX_BYTES] = '\0';
	for (int i = 0; i <= PROGRAM_FACTS_MAX; i++)
		program_facts_add(&facts, "k", longest, i % 2);
	assert_int_equal(facts.count, PROGRAM_FACTS_MAX);
	assert_string_equal(facts.items[PROGRAM_FACTS_MAX - 1].text, longest);
	assert_true(facts.items[1].is_of_binary && !facts.items[0].is_of_binary);
}

static void names_without_a_slash_and_no_name_work(void **state)
{
	struct binary *vdso = binary_create(&(struct binary){ .fd = -1, .path = "[vdso]" });
	struct binary *nameless = binary_create(&(struct binary){ .fd = -1 });

	(void)state;
	assert_string_equal(binary_name(vdso), "[vdso]");
	assert_string_equal(binary_name(nameless), "");
	binary_unref(vdso);
	binary_unref(nameless);
	binary_unref(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_binary_copies_its_path_and_owns_its_descriptor),
		cmocka_unit_test(what_a_file_says_of_itself_is_copied),
		cmocka_unit_test(facts_without_room_are_left_out),
		cmocka_unit_test(names_without_a_slash_and_no_name_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
