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

#include "lib/host/proc_maps.h"
#include "lib/host/tests/find_mapping.h"
#include "symbols/symbol_cache_source.h"
#include "symbols/symbol_store.h"

static const struct symbol_store_options with_tables = { .table_limit_bytes = 1 << 20 };

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

/* ELF virtual address of @function of this process, and the path of its object. */
static uint64_t elf_address(const void *function, const char **path)
{
	struct link_map *map;
	Dl_info info;

	assert_true(dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP));
	*path = map->l_name[0] ? map->l_name : "/proc/self/exe";
	return (uintptr_t)function - map->l_addr;
}

/* A function of zlib, since ASan replaces much of libc. */
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
	assert_int_equal(symbol_store_create(&with_tables, &store), 0);
	binary = binary_of(path, 1 << 16);
	assert_string_equal(resolve(store, &binary, address + 1), "local_function");
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
	assert_int_equal(symbol_store_create(&with_tables, &store), 0);
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
	assert_int_equal(symbol_store_create(&with_tables, &store), 0);
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
	assert_int_equal(symbol_store_create(&with_tables, &store), 0);
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

static void tables_that_had_to_go_are_read_again(void **state)
{
	/* There is room for one table at a time. */
	const struct symbol_store_options options = { .table_limit_bytes = 1 };
	const char *own_path, *library_path;
	uint64_t own = elf_address(local_function, &own_path);
	uint64_t library = elf_address(library_function(), &library_path);
	struct symbol_store *store;
	struct binary a, b;

	(void)state;
	assert_int_equal(symbol_store_create(&options, &store), 0);
	a = binary_of(own_path, 1 << 16);
	b = binary_of(library_path, 2 << 16);
	for (int i = 0; i < 3; i++) {
		assert_string_equal(resolve(store, &a, own), "local_function");
		assert_string_equal(resolve(store, &b, library), "inflate");
	}
	close(a.fd);
	close(b.fd);
	symbol_store_destroy(store);
}

/* --- with symbol caches --- */

/* A source that has the same symbol caches for every binary. */
struct one_source {
	struct symbol_cache_source source;
	struct mapped_symbol_cache *cache;
	uint32_t asked;
	enum symbol_depth depth;
};

static struct mapped_symbol_cache *get_one(struct symbol_cache_source *source,
					   struct binary *binary, enum symbol_depth depth)
{
	struct one_source *one = (struct one_source *)source;

	(void)binary;
	one->asked++;
	one->depth = depth;
	return one->cache ? mapped_symbol_cache_ref(one->cache) : NULL;
}

static struct one_source make_source(struct symbol_cache_writer *writer)
{
	static const struct symbol_cache_source_ops ops = { .get = get_one };
	const struct hash128 key = { 1, 2 };
	struct one_source one = { .source = { &ops } };
	int fd;

	if (!writer)
		return one;
	fd = memfd_create("symbol-cache", MFD_CLOEXEC);
	assert_int_equal(symbol_cache_writer_finish(writer, key, fd), 0);
	assert_int_equal(mapped_symbol_cache_create(fd, key, false, &one.cache), 0);
	close(fd);
	return one;
}

static uint32_t add_text(struct symbol_cache_writer *writer, const char *text)
{
	uint32_t number;

	assert_int_equal(string_table_add(&writer->strings, text, strlen(text), &number), 0);
	return number;
}

static void add_interval(struct symbol_cache_writer *writer, enum symbol_data table,
			 struct interval interval)
{
	struct interval_vector intervals = { 0 };

	assert_int_equal(interval_vector_push(&intervals, interval), 0);
	assert_int_equal(symbol_cache_writer_add_intervals(writer, table, &intervals), 0);
	interval_vector_deinit(&intervals);
}

/* A C++ function at 0x1000 to 0x1100, with another one inlined into its first half. */
static struct one_source make_inlined(void)
{
	struct symbol_cache_writer writer = { 0 };
	uint32_t outer, inner, file = add_text(&writer, "/src/a.cc");

	assert_int_equal(symbol_cache_writer_add_scope(
				 &writer,
				 &(struct symbol_scope){ .name = add_text(&writer, "_ZN1a3bigEi") },
				 &outer),
			 0);
	assert_int_equal(symbol_cache_writer_add_scope(
				 &writer,
				 &(struct symbol_scope){ .outer = outer,
							 .name = add_text(&writer, "_ZN1a5smallEv"),
							 .call_file = file,
							 .call_line = 20 },
				 &inner),
			 0);
	add_interval(&writer, SYMBOL_DATA_SCOPES,
		     (struct interval){ 0x1000, 0x1080, .value = inner });
	add_interval(&writer, SYMBOL_DATA_SCOPES,
		     (struct interval){ 0x1080, 0x1100, .value = outer });
	add_interval(&writer, SYMBOL_DATA_SYMBOLS,
		     (struct interval){ 0x1200, 0x1300,
					.value = add_text(&writer, "__GI__start") });
	return make_source(&writer);
}

static void symbol_caches_have_inlined_functions_and_lines(void **state)
{
	struct one_source one = make_inlined();
	struct symbol_store_options options = { .caches = &one.source,
						.depth = SYMBOL_DEPTH_FULL,
						.demangles = true };
	struct binary binary = { .executable_id = 1 << 16, .fd = 0, .path = "a" };
	struct symbol_store *store;
	struct symbol_lookup *lookup;
	struct symbol symbols[4];

	(void)state;
	assert_int_equal(symbol_store_create(&options, &store), 0);
	lookup = symbol_store_lookup(store);
	assert_int_equal(lookup->ops->resolve(lookup, &binary, 0x1010, symbols, 4), 2);
	assert_string_equal(symbols[0].function, "a::small()");
	assert_true(symbols[0].flags & SYMBOL_INLINED);
	assert_string_equal(symbols[1].function, "a::big(int)");
	assert_string_equal(symbols[1].file, "/src/a.cc");
	assert_int_equal(symbols[1].line, 20);
	assert_false(symbols[1].flags & SYMBOL_INLINED);
	assert_int_equal(lookup->ops->resolve(lookup, &binary, 0x1010, symbols, 1), 1);
	assert_string_equal(symbols[0].function, "a::big(int)");
	assert_int_equal(lookup->ops->resolve(lookup, &binary, 0x1090, symbols, 4), 1);
	assert_string_equal(symbols[0].function, "a::big(int)");
	assert_int_equal(lookup->ops->resolve(lookup, &binary, 0x1200, symbols, 4), 1);
	assert_string_equal(symbols[0].function, "_start");
	assert_int_equal(lookup->ops->resolve(lookup, &binary, 0x1100, symbols, 4), 0);
	assert_int_equal(one.depth, SYMBOL_DEPTH_FULL);
	symbol_store_destroy(store);
	options.demangles = false;
	assert_int_equal(symbol_store_create(&options, &store), 0);
	lookup = symbol_store_lookup(store);
	assert_int_equal(lookup->ops->resolve(lookup, &binary, 0x1010, symbols, 4), 2);
	assert_string_equal(symbols[0].function, "_ZN1a5smallEv");
	assert_int_equal(lookup->ops->resolve(lookup, &binary, 0x1200, symbols, 4), 1);
	assert_string_equal(symbols[0].function, "__GI__start");
	symbol_store_destroy(store);
	/* The store has released its reference. */
	assert_int_equal(one.cache->references, 1);
	mapped_symbol_cache_unref(one.cache);
}

static void without_a_name_the_start_stands_for_it(void **state)
{
	struct symbol_cache_writer writer = { 0 };
	/* Ranges without data for the address. */
	struct one_source one = make_source(&writer);
	struct symbol_store_options options = with_tables;
	struct symbol_store *store;
	struct binary binary;
	const char *path;
	uint64_t address = elf_address(local_function, &path);
	char expected[64];

	(void)state;
	options.caches = &one.source;
	assert_int_equal(symbol_store_create(&options, &store), 0);
	binary = binary_of(path, 1 << 16);
	binary.path = "/usr/bin/stripped";
	assert_string_equal(resolve(store, &binary, address + 1), "");
	symbol_store_destroy(store);
	options.names_starts = true;
	assert_int_equal(symbol_store_create(&options, &store), 0);
	snprintf(expected, sizeof(expected), "stripped+0x%llx", (unsigned long long)address);
	assert_string_equal(resolve(store, &binary, address), expected);
	assert_string_equal(resolve(store, &binary, address + 1), expected);
	assert_string_equal(resolve(store, &binary, 1), "");
	symbol_store_destroy(store);
	/* If no file may be read, there is no substitute for the name. */
	options.table_limit_bytes = 0;
	assert_int_equal(symbol_store_create(&options, &store), 0);
	assert_string_equal(resolve(store, &binary, address), "");
	symbol_store_destroy(store);
	close(binary.fd);
	mapped_symbol_cache_unref(one.cache);
}

static void until_there_is_a_symbol_cache_the_symbol_table_is_asked(void **state)
{
	struct one_source one = make_source(NULL);
	struct symbol_store_options options = with_tables;
	struct symbol_store *store;
	struct binary binary;
	const char *path;
	uint64_t address = elf_address(local_function, &path);

	(void)state;
	options.caches = &one.source;
	assert_int_equal(symbol_store_create(&options, &store), 0);
	binary = binary_of(path, 1 << 16);
	assert_string_equal(resolve(store, &binary, address), "local_function");
	assert_int_equal(one.asked, 1);
	binary.may_hang = true;
	assert_string_equal(resolve(store, &binary, address), "");
	symbol_store_destroy(store);
	options.reads_remote = true;
	assert_int_equal(symbol_store_create(&options, &store), 0);
	assert_string_equal(resolve(store, &binary, address), "local_function");
	symbol_store_destroy(store);
	binary.may_hang = false;
	options.table_limit_bytes = 0;
	assert_int_equal(symbol_store_create(&options, &store), 0);
	assert_string_equal(resolve(store, &binary, address), "");
	symbol_store_destroy(store);
	close(binary.fd);
}

/* [vdso], and files that cannot be opened, have no descriptor either. */
static void only_binaries_of_elsewhere_get_uploaded_names(void **state)
{
	struct one_source here = make_source(NULL), uploaded = make_inlined();
	const struct symbol_store_options options = {
		.caches = &here.source,
		.uploaded = &uploaded.source,
		.depth = SYMBOL_DEPTH_FULL,
	};
	struct binary binary = { .executable_id = 1, .fd = -1, .path = (char *)"[vdso]" };
	struct symbol_store *store;

	(void)state;
	assert_int_equal(symbol_store_create(&options, &store), 0);
	assert_string_equal(resolve(store, &binary, 0x1210), "");
	assert_int_equal(uploaded.asked, 0);
	binary.is_elsewhere = true;
	assert_string_equal(resolve(store, &binary, 0x1210), "__GI__start");
	assert_int_equal(here.asked, 1);
	symbol_store_destroy(store);
	mapped_symbol_cache_unref(uploaded.cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_functions_of_position_independent_programs_have_names),
		cmocka_unit_test(functions_of_shared_objects_have_names),
		cmocka_unit_test(the_vdso_has_names_by_its_image),
		cmocka_unit_test(what_cannot_be_read_has_no_names),
		cmocka_unit_test(tables_that_had_to_go_are_read_again),
		cmocka_unit_test(symbol_caches_have_inlined_functions_and_lines),
		cmocka_unit_test(without_a_name_the_start_stands_for_it),
		cmocka_unit_test(until_there_is_a_symbol_cache_the_symbol_table_is_asked),
		cmocka_unit_test(only_binaries_of_elsewhere_get_uploaded_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
