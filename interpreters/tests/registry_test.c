/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "interpreters/languages.h"
#include "interpreters/registry.h"

static void languages_are_found_by_name_and_index(void **state)
{
	(void)state;
	assert_non_null(language_by_name("python"));
	assert_int_equal(language_by_name("python")->id->kind, FRAME_PYTHON);
	assert_null(language_by_name("pyth"));
	assert_null(language_by_name(""));
	for (uint32_t i = 0; language_at(i); i++)
		assert_ptr_equal(language_by_name(language_at(i)->id->name), language_at(i));
	assert_int_equal(language_by_name("java")->id->kind, FRAME_JAVA);
	assert_null(language_at(UINT32_MAX));
}

static void people_are_told_something_of_each_language(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++) {
		assert_int_equal(language_at(i)->id->kind, language_ids[i].kind);
		assert_true(*language_texts[i].shown && *language_texts[i].parts);
	}
}

static void a_program_that_is_no_runtime_is_none(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct runtime_file *file = NULL;
	struct program_facts facts;
	struct elf_image image;

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(languages_probe(LANGUAGES_ALL, &image, "test", &file), -ENOENT);
	assert_null(file);
	assert_false(languages_describe(&image, &facts));
	assert_int_equal(facts.count, 0);
	elf_image_deinit(&image);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(languages_are_found_by_name_and_index),
		cmocka_unit_test(people_are_told_something_of_each_language),
		cmocka_unit_test(a_program_that_is_no_runtime_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
