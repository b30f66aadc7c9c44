/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The macro of cmocka is in the way of lib/base/error.h. */
#undef fail

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/host/kallsyms.h"

static int parse(struct kallsyms *kallsyms, const char *text)
{
	return kallsyms_parse(kallsyms, text, strlen(text));
}

static const char *name_at(const struct kallsyms *kallsyms, uint64_t address)
{
	const struct kallsyms_symbol *symbol = kallsyms_find(kallsyms, address);

	return symbol ? kallsyms->names + symbol->name : "";
}

static const char *module_at(const struct kallsyms *kallsyms, uint64_t address)
{
	return kallsyms->modules[kallsyms_find(kallsyms, address)->module];
}

static void functions_of_kernel_modules_and_programs_are_taken(void **state)
{
	struct kallsyms kallsyms;

	(void)state;
	assert_int_equal(parse(&kallsyms,
			       "0000000000000000 A fixed_percpu_data\n"
			       "ffffffff81000000 T _stext\n"
			       "ffffffff81001000 T do_work\n"
			       "ffffffff81001100 t helper\n"
			       "ffffffff81800000 T _etext\n"
			       "ffffffff82000000 D data\n"
			       "ffffffffc0b00000 t late\t[zz_module]\n"
			       "ffffffffc0a00000 t early\t[ext4]\n"
			       "ffffffffc0a00100 t second\t[ext4]\n"
			       "ffffffffc0c00000 t bpf_prog_6deef7357e7b4530_x\t[bpf]\n"),
			 0);
	assert_int_equal(kallsyms.count, 8);
	assert_int_equal(kallsyms.module_count, 4);
	assert_int_equal(kallsyms.text_start, 0xffffffff81000000);
	assert_int_equal(kallsyms.text_end, 0xffffffff81800000);
	assert_string_equal(name_at(&kallsyms, 0xffffffff81001050), "do_work");
	assert_string_equal(name_at(&kallsyms, 0xffffffff81001100), "helper");
	assert_string_equal(module_at(&kallsyms, 0xffffffff81001100), "vmlinux");
	assert_string_equal(name_at(&kallsyms, 0xffffffffc0a00000), "early");
	assert_string_equal(name_at(&kallsyms, 0xffffffffc0affff0), "second");
	assert_string_equal(module_at(&kallsyms, 0xffffffffc0a00000), "ext4");
	assert_string_equal(module_at(&kallsyms, 0xffffffffc0b00010), "zz_module");
	assert_string_equal(name_at(&kallsyms, 0xffffffffc0c00010), "bpf_prog_6deef7357e7b4530_x");
	assert_string_equal(module_at(&kallsyms, 0xffffffffc0c00010), "bpf");
	assert_string_equal(name_at(&kallsyms, 0xffffffff80ffffff), "");
	kallsyms_deinit(&kallsyms);
}

static void of_several_at_one_address_the_most_telling_stays(void **state)
{
	struct kallsyms kallsyms;

	(void)state;
	assert_int_equal(parse(&kallsyms, "ffffffff81000000 T _text\n"
					  "ffffffff81000000 T _stext\n"
					  "ffffffff81000000 t startup\n"
					  "ffffffff81000100 T __sched_text_start\n"
					  "ffffffff81000100 t __schedule\n"
					  "ffffffff81000200 W alias\n"
					  "ffffffff81000200 t local\n"
					  "ffffffff81000200 T __global\n"
					  "ffffffff81000300 T __do_it\n"
					  "ffffffff81000300 T do_it\n"
					  "ffffffff81000300 T do_it_too\n"
					  "ffffffff81000400 t __do_sys_getppid\n"
					  "ffffffff81000400 T __ia32_sys_getppid\n"
					  "ffffffff81000400 T __x64_sys_getppid\n"
					  "ffffffff81000500 T __ia32_sys_read\n"),
			 0);
	assert_int_equal(kallsyms.count, 6);
	assert_string_equal(name_at(&kallsyms, 0xffffffff81000000), "startup");
	assert_string_equal(name_at(&kallsyms, 0xffffffff81000100), "__schedule");
	assert_string_equal(name_at(&kallsyms, 0xffffffff81000200), "__global");
	assert_string_equal(name_at(&kallsyms, 0xffffffff81000300), "do_it");
	assert_string_equal(name_at(&kallsyms, 0xffffffff81000400), "__x64_sys_getppid");
	assert_string_equal(name_at(&kallsyms, 0xffffffff81000500), "__ia32_sys_read");
	kallsyms_deinit(&kallsyms);
}

static void hidden_addresses_are_told_with_what_to_do(void **state)
{
	struct kallsyms kallsyms;

	(void)state;
	assert_int_equal(parse(&kallsyms, "0000000000000000 T _stext\n"
					  "0000000000000000 t function\t[module]\n"),
			 -EACCES);
	assert_non_null(strstr(error_text(), "kptr_restrict"));
	assert_int_equal(parse(&kallsyms, ""), -EBADMSG);
	assert_int_equal(parse(&kallsyms, "ffffffff82000000 D data\n"), -EBADMSG);
}

static void malformed_lines_are_bad(void **state)
{
	static const char *const lines[] = {
		"\n",
		"ffffffff81000000\n",
		"ffffffff81000000 T \n",
		"ffffffff81000000 T\n",
		"ffffffff81000000 TT name\n",
		" ffffffff81000000 T name\n",
		"0fffffffff81000000 T name\n",
		"ffffffff81000000 T name\t[module\n",
		"ffffffff81000000 T name\tmodule]\n",
		"ffffffff81000000 T name\t[]\n",
		"ffffffff81000000 T \t[module]\n",
	};
	struct kallsyms kallsyms;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(parse(&kallsyms, lines[i]), -EBADMSG);
	assert_int_equal(kallsyms_parse(&kallsyms, "ffffffff81000000 T na\0me\n", 25), -EBADMSG);
}

static void long_names_are_cut(void **state)
{
	char text[4000] = "ffffffff81000000 T ";
	struct kallsyms kallsyms;

	(void)state;
	memset(text + strlen(text), 'n', 3000);
	strcat(text, "\t[");
	memset(text + strlen(text), 'm', 500);
	strcat(text, "]");
	assert_int_equal(parse(&kallsyms, text), 0);
	assert_int_equal(strlen(kallsyms.names), KALLSYMS_NAME_MAX_BYTES);
	assert_int_equal(strlen(kallsyms.modules[1]), KALLSYMS_MODULE_NAME_BYTES - 1);
	kallsyms_deinit(&kallsyms);
}

/* Every 50th function of the running kernel is found again by its address. */
static void the_running_kernel_is_read(void **state)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	size_t line_number = 0, found = 0;
	struct kallsyms kallsyms;
	char line[1024];
	int err;

	(void)state;
	err = kallsyms_read(&kallsyms, "/proc/kallsyms");
	if (err == -EACCES || !file)
		skip();
	assert_int_equal(err, 0);
	while (fgets(line, sizeof(line), file)) {
		const struct kallsyms_symbol *symbol;
		char type, name[600];
		uint64_t address;

		if (sscanf(line, "%" SCNx64 " %c %599s", &address, &type, name) != 3 ||
		    (type != 'T' && type != 't') || line_number++ % 50)
			continue;
		symbol = kallsyms_find(&kallsyms, address);
		assert_non_null(symbol);
		assert_int_equal(symbol->address, address);
		found += !strcmp(kallsyms.names + symbol->name, name);
	}
	fclose(file);
	assert_true(found * 10 > line_number / 50 * 8);
	assert_true(kallsyms.text_start && kallsyms.text_end > kallsyms.text_start);
	kallsyms_deinit(&kallsyms);
	assert_int_equal(kallsyms_read(&kallsyms, "/proc/none"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_kernel_modules_and_programs_are_taken),
		cmocka_unit_test(of_several_at_one_address_the_most_telling_stays),
		cmocka_unit_test(hidden_addresses_are_told_with_what_to_do),
		cmocka_unit_test(malformed_lines_are_bad),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(the_running_kernel_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
