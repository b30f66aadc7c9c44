/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/binary.h"

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

static void what_go_says_of_a_file_is_copied(void **state)
{
	struct go_program go = { .version = "go1.26.8" };
	struct binary *binary = binary_create(&(struct binary){ .fd = -1, .go = &go });
	struct binary *other = binary_create(&(struct binary){ .fd = -1 });

	(void)state;
	memset(&go, 0, sizeof(go));
	assert_string_equal(binary->go->version, "go1.26.8");
	assert_null(other->go);
	binary_unref(binary);
	binary_unref(other);
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
		cmocka_unit_test(what_go_says_of_a_file_is_copied),
		cmocka_unit_test(names_without_a_slash_and_no_name_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
