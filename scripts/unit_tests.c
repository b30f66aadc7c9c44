// SPDX-License-Identifier: Apache-2.0
/*
 * The one test program of a folder. It runs the tests of the file by whose name it was started: each
 * build/asan/FOLDER/tests/NAME_test is a link to it. The Makefile compiles FOLDER/tests/NAME_test.c with
 * its main() under the name NAME_test_main(), and lists all of them in UNIT_TESTS as X(NAME_test) X(...).
 */
#include <stdio.h>
#include <string.h>

#define X(name) int name##_main(int argc, char **argv);
UNIT_TESTS
#undef X

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} tests[] = {
#define X(name) { #name, name##_main },
	UNIT_TESTS
#undef X
};

/* For a folder whose code starts its own program again, by another name than a test's. */
__attribute__((weak)) void unit_tests_enter(int argc, char **argv);

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!strcmp(tests[i].name, name))
			return tests[i].run(argc, argv);
	if (unit_tests_enter)
		unit_tests_enter(argc, argv);
	fprintf(stderr, "%s: start it by the name of a test, as one of the links beside it\n",
		argv[0]);
	return 2;
}
