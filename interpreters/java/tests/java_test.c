/* SPDX-License-Identifier: Apache-2.0 */
/* Probes files that are not HotSpot, which a compiler makes here; tests with running JVMs cover the rest. */
#include "interpreters/java/java.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/error.h"

#include <cmocka.h>

/* The result of probe() for a library that is compiled from @source. */
static int probe_library(const char *source)
{
	char path[] = "/tmp/allframes-java-XXXXXX", command[512];
	struct runtime_file *file = NULL;
	struct elf_image image;
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	snprintf(command, sizeof(command), "echo '%s' | gcc -shared -fPIC -x c -o %s -", source,
		 path);
	if (system(command)) {
		unlink(path);
		close(fd);
		print_message("no compiler here\n");
		skip();
	}
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	err = java_language.ops->probe(&image, path, &file);
	assert_null(file);
	elf_image_deinit(&image);
	close(fd);
	unlink(path);
	return err;
}

static void other_files_are_none(void **state)
{
	(void)state;
	assert_int_equal(probe_library("int JNI_CreateJavaVM(void) { return 0; }"), -ENOENT);
}

static void java_that_is_not_hotspots_is_refused_by_name(void **state)
{
	(void)state;
	assert_int_equal(probe_library("int J9_CreateJavaVM(void) { return 0; }"), -EOPNOTSUPP);
	assert_non_null(strstr(error_text(), "OpenJ9"));
	assert_int_equal(probe_library("__attribute__((section(\".svm_heap\"))) int heap = 1;"),
			 -EOPNOTSUPP);
	assert_non_null(strstr(error_text(), "native image"));
}

static void hotspot_without_all_of_its_tables_is_refused(void **state)
{
	(void)state;
	assert_int_equal(probe_library("void *gHotSpotVMStructs;"), -EOPNOTSUPP);
	assert_non_null(strstr(error_text(), "HotSpot without gHotSpotVMStruct"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_files_are_none),
		cmocka_unit_test(java_that_is_not_hotspots_is_refused_by_name),
		cmocka_unit_test(hotspot_without_all_of_its_tables_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
