/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/runtimes/unsupported_runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void runtimes_are_known_by_their_files(void **state)
{
	static const struct {
		const char *path;
		const char *name;
	} files[] = {
		{ "/usr/bin/node", "Node.js" },
		{ "/usr/bin/ruby3.1", "Ruby" },
		{ "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2", "Ruby" },
		{ "/usr/sbin/php-fpm8.2", "PHP" },
		{ "/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.1/libcoreclr.so", ".NET" },
		{ "/usr/bin/perl", "Perl" },
		{ "/usr/lib/x86_64-linux-gnu/libperl.so.5.36.0", "Perl" },
		{ "/opt/erlang/erts-14.0/bin/beam.smp", "Erlang" },
		{ "luajit-2.1.0", "LuaJIT" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		assert_string_equal(unsupported_runtime_name(files[i].path), files[i].name);
	assert_string_equal(unsupported_runtime_option("Node.js"), "node --perf-basic-prof");
	assert_null(unsupported_runtime_option("Perl"));
}

static void what_only_begins_like_one_is_none(void **state)
{
	static const char *const files[] = { "/usr/bin/node_exporter",
					     "/usr/bin/nodemon",
					     "/bin/perlbal",
					     "/usr/bin/luac",
					     "/opt/php-cs",
					     "/lib/libRmath.so",
					     "" };

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		assert_null(unsupported_runtime_name(files[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runtimes_are_known_by_their_files),
		cmocka_unit_test(what_only_begins_like_one_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
