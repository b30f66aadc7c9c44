/* SPDX-License-Identifier: Apache-2.0 */
/* Modules as xsubpp writes them are compiled and stripped, and their functions are compared with the symbols that they had. */
#include "symbols/build/perl_functions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/elf/elf_symbols.h"

static char path[] = "/tmp/perl_functions_test.XXXXXX";

/* Functions that differ, so that none is folded into another. */
#define FUNCTIONS                                                                                   \
	"static __attribute__((noinline)) void first(void *a, void *b) { *(volatile int *)a = 1; }" \
	"static __attribute__((noinline)) void sum(void *a, void *b) { *(volatile int *)a = 2; }"   \
	"static __attribute__((noinline)) void last(void *a, void *b) { *(volatile int *)a = 3; }"  \
	"int called(int);"

#define DEFFILE "void *Perl_newXS_deffile(void *, const char *, void (*)(void *, void *));"
#define FLAGS                                                                                      \
	"void *Perl_newXS_flags(void *, const char *, void (*)(void *, void *), const char *, const char *, int);"

static void compile(const char *source, const char *options)
{
	char command[4096];

#ifndef __x86_64__
	skip();
#endif
	snprintf(command, sizeof(command),
		 "cc -w -O2 -shared -fPIC %s -x c -o %s - <<'END'\n%s\nEND", options, path, source);
	assert_int_equal(system(command), 0);
}

static struct code_range find_boot(const struct elf_image *image)
{
	struct elf_symbols symbols;
	struct code_range boot = { 0 };
	char name[64];

	assert_int_equal(elf_symbols_init(&symbols, image), 0);
	for (uint32_t i = 0; i < symbols.count; i++)
		if (!elf_symbols_name(&symbols, image, &symbols.symbols[i], name, sizeof(name)) &&
		    perl_functions_is_boot(name))
			boot = (struct code_range){ symbols.symbols[i].address,
						    symbols.symbols[i].address +
							    symbols.symbols[i].size };
	elf_symbols_deinit(&symbols);
	assert_true(boot.end > boot.start);
	return boot;
}

/* Asserts the names, in order of the functions' addresses, and that each has a range. */
static void expect(const char *expected)
{
	struct interval_vector intervals = { 0 };
	struct string_table strings = { 0 };
	struct elf_image image;
	char text[512] = "";
	size_t used = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(perl_functions_add(&image, find_boot(&image), 7, &intervals, &strings), 0);
	for (size_t i = 0; i < intervals.count; i++) {
		assert_true(intervals.items[i].end > intervals.items[i].start);
		assert_int_equal(intervals.items[i].order, 7);
		used += snprintf(text + used, sizeof(text) - used, "%s\n",
				 (const char *)strings.bytes.items + intervals.items[i].value);
	}
	assert_string_equal(text, expected);
	interval_vector_deinit(&intervals);
	string_table_deinit(&strings);
	elf_image_deinit(&image);
	close(fd);
}

static const char threaded[] = FUNCTIONS DEFFILE FLAGS
	"void boot_A__B(void *perl) {"
	"Perl_newXS_deffile(perl, \"A::B::first\", first);"
	"Perl_newXS_flags(perl, \"A::B::sum\", sum, \"B.c\", \"@\", 0);"
	"Perl_newXS_flags(perl, \"A::B::sum0\", sum, \"B.c\", \"@\", 0);"
	"Perl_newXS_deffile(perl, \"A::B::(+\", last); }";

static void functions_have_the_names_of_their_subs(void **state)
{
	(void)state;
	compile(threaded, "-s");
	expect("A::B::first\nA::B::sum/sum0\nA::B::(+\n");
	compile(threaded, "-s -fno-plt -fcf-protection");
	expect("A::B::first\nA::B::sum/sum0\nA::B::(+\n");
}

static void without_threads_there_is_no_interpreter(void **state)
{
	(void)state;
	compile(FUNCTIONS "void *Perl_newXS_deffile(const char *, void (*)(void *, void *));"
			  "void boot_A(void) { Perl_newXS_deffile(\"A::first\", first);"
			  "Perl_newXS_deffile(\"A::last\", last); sum(called, called); }",
		"-s");
	expect("A::first\nA::last\n");
}

static void more_than_four_names_are_cut(void **state)
{
	(void)state;
	compile(FUNCTIONS DEFFILE "void boot_A(void *perl) {"
				  "Perl_newXS_deffile(perl, \"A::a\", first);"
				  "Perl_newXS_deffile(perl, \"A::b\", first);"
				  "Perl_newXS_deffile(perl, \"B::c\", first);"
				  "Perl_newXS_deffile(perl, \"A::d\", first);"
				  "Perl_newXS_deffile(perl, \"A::e\", first); sum(perl, last); }",
		"-s");
	expect("A::a/b/B::c/d/...\n");
}

/* Code behind a jump is reached from elsewhere, with other values in its registers. */
static void nothing_is_known_behind_a_jump(void **state)
{
	(void)state;
	compile(FUNCTIONS DEFFILE
		"void boot_A(void *perl) { __asm__ volatile(\"lea name(%rip), %rsi\\n"
		"lea first(%rip), %rdx\\njmp 2f\\n1: call Perl_newXS_deffile@plt\\n2: ret\\n"
		".pushsection .rodata\\nname: .string \\\"A::wrong\\\"\\n.popsection\");"
		"sum(perl, first); last(perl, first); }",
		"-s");
	expect("");
}

static void local_symbols_are_better(void **state)
{
	(void)state;
	compile(threaded, "");
	expect("");
}

static void what_is_no_name_and_no_function_is_left_out(void **state)
{
	(void)state;
	compile(FUNCTIONS DEFFILE
		"void boot_A(void *perl) {"
		"Perl_newXS_deffile(perl, \"A::with space\", first);"
		"Perl_newXS_deffile(perl, \"\", sum);"
		"Perl_newXS_deffile(perl, \"A::inside\", (void *)((char *)last + 1)); }",
		"-s");
	expect("");
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_the_names_of_their_subs),
		cmocka_unit_test(without_threads_there_is_no_interpreter),
		cmocka_unit_test(more_than_four_names_are_cut),
		cmocka_unit_test(nothing_is_known_behind_a_jump),
		cmocka_unit_test(local_symbols_are_better),
		cmocka_unit_test(what_is_no_name_and_no_function_is_left_out),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
