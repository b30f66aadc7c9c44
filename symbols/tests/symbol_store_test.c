/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/host/proc_maps.h"
#include "agent/host/tests/find_mapping.h"
#include "symbols/symbol_store.h"

enum { TABLE_LIMIT = 1 << 20 };

static struct binary binary_of(const char *path, uint64_t executable_id)
{
	struct binary binary = {
		.executable_id = executable_id,
		.fd = open(path, O_RDONLY | O_CLOEXEC),
		.path = (char *)path,
	};

	return binary;
}

static const char *resolve(struct symbol_store *store, struct binary *binary, uint64_t address)
{
	struct symbol_lookup *lookup = symbol_store_lookup(store);
	struct symbol symbols[4];
	uint32_t count = lookup->ops->resolve(lookup, binary, address, symbols, 4);

	if (!count)
		return "";
	assert_int_equal(count, 1);
	assert_null(symbols[0].file);
	return symbols[0].function;
}

/* ELF virtual address of @function of this process, in the object that has it. */
static uint64_t elf_address(const void *function, const char **path)
{
	struct link_map *map;
	Dl_info info;

	assert_true(dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP));
	*path = map->l_name[0] ? map->l_name : "/proc/self/exe";
	return (uintptr_t)function - map->l_addr;
}

/* Of zlib, since ASan has its own ones for much of libc. */
static const void *library_function(void)
{
	const void *function = dlsym(dlopen("libz.so.1", RTLD_NOW), "inflate");

	assert_non_null(function);
	return function;
}

__attribute__((noinline, used)) static int local_function(int x)
{
	return x * 3;
}

static void local_functions_of_position_independent_programs_have_names(void **state)
{
	struct symbol_store *store;
	struct binary binary;
	const char *path;
	uint64_t address = elf_address(local_function, &path);

	(void)state;
	assert_int_equal(symbol_store_create(&store, TABLE_LIMIT), 0);
	binary = binary_of(path, 1 << 16);
	assert_string_equal(resolve(store, &binary, address + 1), "local_function");
	/* The same name is the same string. */
	assert_ptr_equal(resolve(store, &binary, address + 1), resolve(store, &binary, address));
	assert_string_equal(resolve(store, &binary, 1), "");
	close(binary.fd);
	symbol_store_destroy(store);
}

static void functions_of_shared_objects_have_names(void **state)
{
	struct symbol_store *store;
	struct binary binary;
	const char *path;
	uint64_t address = elf_address(library_function(), &path);

	(void)state;
	assert_int_equal(symbol_store_create(&store, TABLE_LIMIT), 0);
	binary = binary_of(path, 2 << 16);
	assert_string_equal(resolve(store, &binary, address), "inflate");
	close(binary.fd);
	symbol_store_destroy(store);
}

static void the_vdso_has_names_by_its_image(void **state)
{
	struct binary binary = { .executable_id = 3 << 16, .path = "[vdso]" };
	const uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	const struct proc_mapping *row;
	struct symbol_store *store;
	struct proc_maps maps;
	bool is_found = false;
	uint64_t size;

	(void)state;
	if (!vdso)
		skip();
	assert_int_equal(proc_maps_read(&maps, "/proc", getpid(), PROC_MAPS_ALL), 0);
	row = find_mapping(&maps, vdso);
	assert_non_null(row);
	size = row->end - row->start;
	binary.fd = memfd_create("vdso", MFD_CLOEXEC);
	assert_int_equal(write(binary.fd, (const void *)vdso, size), size);
	assert_int_equal(symbol_store_create(&store, TABLE_LIMIT), 0);
	for (uint64_t address = 0; address < size; address += 16)
		is_found |= !!strstr(resolve(store, &binary, address), "clock_gettime");
	assert_true(is_found);
	close(binary.fd);
	proc_maps_deinit(&maps);
	symbol_store_destroy(store);
}

static void what_cannot_be_read_has_no_names(void **state)
{
	struct binary kernel = { .executable_id = 4 << 16, .fd = -1, .is_kernel = true };
	struct binary text = binary_of("/etc/passwd", 5 << 16);
	struct binary folder = binary_of("/", 6 << 16);
	struct binary closed = { .executable_id = 7 << 16, .fd = -1, .path = "gone" };
	struct symbol_store *store;

	(void)state;
	assert_int_equal(symbol_store_create(&store, TABLE_LIMIT), 0);
	assert_string_equal(resolve(store, &kernel, 0x1000), "");
	assert_string_equal(resolve(store, &text, 0x1000), "");
	assert_string_equal(resolve(store, &text, 0x1000), "");
	assert_string_equal(resolve(store, &folder, 0x1000), "");
	assert_string_equal(resolve(store, &closed, 0x1000), "");
	close(text.fd);
	close(folder.fd);
	symbol_store_destroy(store);
	symbol_store_destroy(NULL);
}

static void names_outlive_the_tables_they_came_from(void **state)
{
	const char *own_path, *library_path, *own_name, *library_name;
	uint64_t own = elf_address(local_function, &own_path);
	uint64_t library = elf_address(library_function(), &library_path);
	struct symbol_store *store;
	struct binary a, b;

	(void)state;
	/* Room for one table at a time. */
	assert_int_equal(symbol_store_create(&store, 1), 0);
	a = binary_of(own_path, 1 << 16);
	b = binary_of(library_path, 2 << 16);
	own_name = resolve(store, &a, own);
	library_name = resolve(store, &b, library);
	for (int i = 0; i < 3; i++) {
		assert_ptr_equal(resolve(store, &a, own), own_name);
		assert_ptr_equal(resolve(store, &b, library), library_name);
	}
	assert_string_equal(own_name, "local_function");
	assert_string_equal(library_name, "inflate");
	close(a.fd);
	close(b.fd);
	symbol_store_destroy(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_functions_of_position_independent_programs_have_names),
		cmocka_unit_test(functions_of_shared_objects_have_names),
		cmocka_unit_test(the_vdso_has_names_by_its_image),
		cmocka_unit_test(what_cannot_be_read_has_no_names),
		cmocka_unit_test(names_outlive_the_tables_they_came_from),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
