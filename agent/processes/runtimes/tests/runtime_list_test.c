/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/runtimes/runtime_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/processes/runtimes/tests/attachments_fixture.h"

struct taken {
	struct listed_runtime runtimes[4];
	uint32_t count;
};

static void take(void *context, const struct listed_runtime *runtime)
{
	struct taken *taken = context;

	assert_true(taken->count < 4);
	taken->runtimes[taken->count++] = *runtime;
}

static void a_runtime_that_was_probed_is_not_listed_by_its_name_too(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 10);
	struct executable *node;
	struct taken taken = { .count = 0 };

	fake_language.file_name = "/node";
	node = language_fixture_open_as(&fixture->base, "/bin/mkdir", "/usr/bin/node");
	map(fixture, process, node, 0x10000);
	map(fixture, process, node, 0x20000);
	runtime_list(&fixture->base.table, take, &taken);
	assert_int_equal(taken.count, 1);
	assert_string_equal(taken.runtimes[0].path, "/usr/bin/node");
	assert_non_null(taken.runtimes[0].language);
	assert_null(taken.runtimes[0].unsupported);
	drop(fixture, process);
	executable_unref(fixture->base.executables, node);
}

static void a_file_that_is_no_runtime_of_ours_is_listed_by_its_name(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 10);
	struct executable *perl =
		language_fixture_open_as(&fixture->base, "/bin/rmdir", "/usr/bin/perl");
	struct taken taken = { .count = 0 };

	map(fixture, process, fixture->base.other, 0x10000);
	map(fixture, process, perl, 0x20000);
	runtime_list(&fixture->base.table, take, &taken);
	assert_int_equal(taken.count, 1);
	assert_string_equal(taken.runtimes[0].unsupported, "Perl");
	assert_null(taken.runtimes[0].language);
	drop(fixture, process);
	executable_unref(fixture->base.executables, perl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_runtime_that_was_probed_is_not_listed_by_its_name_too, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_file_that_is_no_runtime_of_ours_is_listed_by_its_name, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
