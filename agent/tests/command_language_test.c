// SPDX-License-Identifier: Apache-2.0
#include "agent/command_language.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/model/languages.h"

static uint32_t set_of(const char *language)
{
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++) {
		if (!strcmp(language_ids[i].name, language))
			return 1U << i;
	}
	return 0;
}

static void assert_language(const char *command, const char *language)
{
	if (command_languages(command, "/nonexistent") != set_of(language))
		fail_msg("%s is not taken for %s", command, language);
}

static void programs_are_known_by_their_names(void **state)
{
	(void)state;
	assert_language("python3.11", "python");
	assert_language("/usr/bin/python", "python");
	assert_language("php8.2", "php");
	assert_language("perl", "perl");
	assert_language("ruby3.1", "ruby");
	assert_language("/opt/jdk/bin/java", "java");
	assert_language("javac", "java");
	assert_language("node", "javascript");
	assert_language("npx", "javascript");
	assert_language("make", "");
	assert_language("perlin", "");
	assert_language("/opt/python/bin/tool", "");
}

static void assert_line(const char *folder, const char *line, const char *language)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tool", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(line, file);
	fclose(file);
	assert_int_equal(chmod(path, 0700), 0);
	if (command_languages(path, "") != set_of(language))
		fail_msg("%s is not taken for %s", line, language);
	assert_int_equal(command_languages("tool", folder), set_of(language));
	unlink(path);
}

static void scripts_are_known_by_their_first_line(void **state)
{
	char folder[] = "/tmp/command_language_test_XXXXXX", path[128];

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_line(folder, "#!/usr/bin/python3 -u\nimport x\n", "python");
	assert_line(folder, "#! /usr/bin/env node\n", "javascript");
	assert_line(folder, "#!/usr/bin/env -S A=b ruby --flag\n", "ruby");
	assert_line(folder, "#!/bin/sh\npython3\n", "");
	assert_line(folder, "#!", "");
	assert_line(folder, "#!/usr/bin/env", "");
	assert_line(folder, "\177ELF", "");
	assert_line(folder, "", "");
	snprintf(path, sizeof(path), "/nonexistent::%s", folder);
	assert_int_equal(command_languages("tool", path), 0);
	/* A folder is no program. */
	assert_int_equal(command_languages(folder, ""), 0);
	assert_int_equal(command_languages("", folder), 0);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_known_by_their_names),
		cmocka_unit_test(scripts_are_known_by_their_first_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
