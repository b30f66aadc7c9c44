/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/packages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "reporter/stack_text.h"

static void assert_package(uint8_t kind, const char *name, const char *file, const char *binary,
			   const char *expected)
{
	const struct packaged_function function = {
		.kind = kind, .name = name, .file = file, .binary = binary
	};
	struct text_builder text = { 0 };

	append_package(&text, &function);
	assert_string_equal(text_builder_text(&text), expected);
	text_builder_deinit(&text);
}

static void packages_of_go_are_paths(void **state)
{
	(void)state;
	assert_package(TEXT_GO, "main.main", "", "/opt/server", "main");
	assert_package(TEXT_GO, "net/http.(*conn).serve", "", "/opt/server", "net/http");
	assert_package(TEXT_GO, "example.com/shop/cart.Add", "", "/opt/server",
		       "example.com/shop/cart");
	assert_package(TEXT_GO, "slices.SortFunc[go.shape.*a/b.T]", "", "/opt/server", "slices");
	assert_package(TEXT_GO, "server+0x1234", "", "/opt/server", "server");
}

static void packages_of_java_are_before_the_class(void **state)
{
	(void)state;
	assert_package(TEXT_JAVA, "java.util.HashMap.get", "HashMap.java", "", "java.util");
	assert_package(TEXT_JAVA, "java.util.HashMap.put(java.lang.Object)", "", "", "java.util");
	assert_package(TEXT_JAVA, "com.shop.Cart$$Lambda/0x7f.run", "", "", "com.shop");
	assert_package(TEXT_JAVA, "java.util.HashMap$Node.<init>", "", "", "java.util");
	assert_package(TEXT_JAVA, "Calls.turn", "Calls.java", "", "[java]");
}

static void packages_of_native_code_are_the_outermost_namespaces(void **state)
{
	(void)state;
	assert_package(TEXT_NATIVE, "std::vector<int>::push_back(int)", "", "/opt/prog", "std");
	assert_package(TEXT_NATIVE, "void std::sort<int*>(int*, int*)", "", "/opt/prog", "std");
	assert_package(TEXT_NATIVE, "<alloc::vec::Vec<T> as core::ops::Drop>::drop", "",
		       "/opt/prog", "alloc");
	assert_package(TEXT_NATIVE, "tokio::runtime::park", "", "/opt/prog", "tokio");
	assert_package(TEXT_NATIVE, "print(std::string)", "", "/opt/prog", "prog");
	assert_package(TEXT_NATIVE, "pick<std::string>", "", "/opt/prog", "prog");
	assert_package(TEXT_NATIVE, "malloc", "malloc.c", "/usr/lib/libc.so.6", "libc.so.6");
	assert_package(TEXT_NATIVE, "(anonymous namespace)::work()", "", "/opt/prog", "prog");
	assert_package(TEXT_NATIVE, "main", "main.c", "", "[native]");
}

static void packages_of_scripts_are_folders(void **state)
{
	(void)state;
	assert_package(TEXT_PYTHON, "dot", "/usr/lib/python3/dist-packages/numpy/core/a.py", "",
		       "numpy");
	assert_package(TEXT_PYTHON, "six", "/x/site-packages/six.py", "", "six.py");
	assert_package(TEXT_JAVASCRIPT, "run", "/srv/node_modules/a/node_modules/@org/b/index.js",
		       "", "@org/b");
	assert_package(TEXT_RUBY, "call", "/var/lib/gems/3.1.0/gems/rack-2.2.4/lib/rack.rb", "",
		       "rack-2.2.4");
	assert_package(TEXT_PHP, "log", "/srv/vendor/monolog/monolog/src/Logger.php", "",
		       "monolog/monolog");
	assert_package(TEXT_PYTHON, "spin", "/srv/app/work.py", "", "/srv/app");
	assert_package(TEXT_PERL, "main::f", "work.pl", "", "work.pl");
	assert_package(TEXT_PYTHON, "f", "", "", "[python]");
	assert_package(TEXT_PYTHON, "f", "/top.py", "", "/");
}

static void the_kernel_has_modules(void **state)
{
	(void)state;
	assert_package(TEXT_KERNEL, "ext4_read", "ext4", "ext4", "ext4");
	assert_package(TEXT_KERNEL, "bpf_prog_1", "", "", "[kernel]");
	assert_package(TEXT_JIT, "[anonymous]+0x1", "", "", "[jit]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packages_of_go_are_paths),
		cmocka_unit_test(packages_of_java_are_before_the_class),
		cmocka_unit_test(packages_of_native_code_are_the_outermost_namespaces),
		cmocka_unit_test(packages_of_scripts_are_folders),
		cmocka_unit_test(the_kernel_has_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
