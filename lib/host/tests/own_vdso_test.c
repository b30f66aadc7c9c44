/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include <cmocka.h>

#include "lib/host/own_vdso.h"

static void it_is_what_the_kernel_said_at_the_start(void **state)
{
	const void *image = NULL;
	size_t size = 0;

	(void)state;
	if (!getauxval(AT_SYSINFO_EHDR))
		skip();
	assert_int_equal(own_vdso_find(&image, &size), 0);
	assert_ptr_equal(image, (const void *)getauxval(AT_SYSINFO_EHDR));
	assert_memory_equal(image, ELFMAG, SELFMAG);
	assert_true(size >= sizeof(Elf64_Ehdr) && size % 4096 == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_what_the_kernel_said_at_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
