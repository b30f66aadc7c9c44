/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads of this program's symbols, whole and in chunks, valid and invalid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/elf/elf_symbols.h"
#include "symbols/uploaded_symbol_caches.h"

enum { CHUNK_BYTES = 1000 };

struct fixture {
	char directory[64];
	struct uploaded_symbol_caches *uploaded;
	/* The symbol cache. */
	uint8_t *bytes;
	size_t size;
	/* The address of uploaded_function(). */
	uint64_t function_address;
	/* The time at which chunks are added. */
	uint64_t now_ns;
};

static const uint8_t build_id[] = { 1, 2, 3, 4 };
static const struct file_id file_id = { { 9, 8, 7 } };

__attribute__((noinline, used)) static int uploaded_function(int x)
{
	return x * 3;
}

static uint64_t find_uploaded_function(const struct elf_image *image)
{
	struct elf_symbols symbols;
	uint64_t address = 0;
	char name[64];

	assert_int_equal(elf_symbols_init(&symbols, image), 0);
	for (size_t i = 0; i < symbols.count && !address; i++)
		if (!elf_symbols_name(&symbols, image, &symbols.symbols[i], name, sizeof(name)) &&
		    !strcmp(name, "uploaded_function"))
			address = symbols.symbols[i].address;
	elf_symbols_deinit(&symbols);
	return address;
}

static void make_file(struct fixture *f)
{
	struct elf_image image = { .fd = -1 };
	struct symbol_cache_writer writer = { 0 };
	int input = open("/proc/self/exe", O_RDONLY), output = memfd_create("symbol-cache", 0);
	struct stat status;

	assert_int_equal(elf_image_init_fd(&image, input), 0);
	f->function_address = find_uploaded_function(&image);
	assert_int_not_equal(f->function_address, 0);
	assert_int_equal(make_symbol_cache(&image, NULL, SYMBOL_DEPTH_SYMBOLS, &writer), 0);
	assert_int_equal(symbol_cache_writer_finish(&writer, (struct hash128){ 0 }, output), 0);
	symbol_cache_writer_deinit(&writer);
	assert_int_equal(fstat(output, &status), 0);
	f->size = (size_t)status.st_size;
	f->bytes = malloc(f->size);
	assert_int_equal(pread(output, f->bytes, f->size, 0), f->size);
	elf_image_deinit(&image);
	close(input);
	close(output);
}

static void open_store(struct fixture *f)
{
	if (uploaded_symbol_caches_create(f->directory, &f->uploaded))
		fail_msg("%s", error_text());
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->directory, "/tmp/uploaded_symbol_caches_test_XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	f->now_ns = 1000 * NS_PER_SECOND;
	make_file(f);
	open_store(f);
	*state = f;
	return 0;
}

static size_t count_files(const struct fixture *f, bool removes)
{
	DIR *directory = opendir(f->directory);
	struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(directory))) {
		if (*entry->d_name == '.')
			continue;
		count++;
		if (removes)
			unlinkat(dirfd(directory), entry->d_name, 0);
	}
	closedir(directory);
	return count;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	uploaded_symbol_caches_destroy(f->uploaded);
	count_files(f, true);
	rmdir(f->directory);
	free(f->bytes);
	free(f);
	return 0;
}

static size_t count_temporary(const struct fixture *f)
{
	DIR *directory = opendir(f->directory);
	struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(directory)))
		count += !strncmp(entry->d_name, ".new-", 5);
	closedir(directory);
	return count;
}

/* The chunk of upload @id at @offset. */
static struct upload_chunk chunk_of(const struct fixture *f, uint64_t id, size_t offset)
{
	return (struct upload_chunk){
		.upload_id = id,
		.build_id = build_id,
		.build_id_bytes = sizeof(build_id),
		.file_id = &file_id,
		.size = f->size,
		.offset = offset,
		.bytes = f->bytes + offset,
		.count = f->size - offset < CHUNK_BYTES ? f->size - offset : CHUNK_BYTES,
	};
}

static int add(const struct fixture *f, uint64_t id, size_t offset)
{
	struct upload_chunk chunk = chunk_of(f, id, offset);

	return uploaded_symbol_caches_add(f->uploaded, &chunk, f->now_ns);
}

static int add_from(const struct fixture *f, uint64_t id, size_t offset)
{
	int err = 0;

	for (; offset < f->size && !err; offset += CHUNK_BYTES)
		err = add(f, id, offset);
	return err;
}

/* The name of uploaded_function() in a file with these ids; "" if there is none. */
static const char *name_of(const struct fixture *f, const struct binary *values)
{
	static char name[64];
	struct symbol_cache_source *source = uploaded_symbol_caches_source(f->uploaded);
	struct binary binary = *values;
	struct mapped_symbol_cache *cache = source->ops->get(source, &binary, SYMBOL_DEPTH_FULL);
	struct symbol_frame frame;

	*name = '\0';
	if (cache && symbol_cache_lookup(&cache->file, f->function_address, &frame, 1))
		snprintf(name, sizeof(name), "%s", frame.function);
	mapped_symbol_cache_unref(cache);
	return name;
}

static const struct binary by_file_id = { .executable_id = 1, .file_id = { { 9, 8, 7 } } };
static const struct binary by_build_id = { .executable_id = 2,
					   .build_id = { 1, 2, 3, 4 },
					   .build_id_bytes = 4 };
static const struct binary unknown = { .executable_id = 3,
				       .build_id = { 1, 2, 3 },
				       .build_id_bytes = 3 };

static void a_file_is_found_by_both_ids(void **state)
{
	struct fixture *f = *state;

	assert_true(f->size > 3 * CHUNK_BYTES);
	/* That nobody has it is not cached for ever. */
	assert_string_equal(name_of(f, &by_file_id), "");
	assert_int_equal(uploaded_symbol_caches_changes(f->uploaded), 0);
	assert_int_equal(add_from(f, 5, 0), 0);
	assert_int_equal(uploaded_symbol_caches_changes(f->uploaded), 1);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(name_of(f, &by_file_id), "uploaded_function");
		assert_string_equal(name_of(f, &by_build_id), "uploaded_function");
		assert_string_equal(name_of(f, &unknown), "");
		/* A store that is opened later finds it too. */
		uploaded_symbol_caches_destroy(f->uploaded);
		open_store(f);
	}
	assert_int_equal(count_files(f, false), 3);
}

static void chunks_of_several_uploads_may_come_in_turn(void **state)
{
	struct fixture *f = *state;

	for (size_t offset = 0; offset < f->size; offset += CHUNK_BYTES)
		for (uint64_t id = 1; id <= UPLOADS_MAX; id++)
			assert_int_equal(add(f, id, offset), 0);
	assert_int_equal(uploaded_symbol_caches_changes(f->uploaded), UPLOADS_MAX);
	assert_string_equal(name_of(f, &by_file_id), "uploaded_function");
}

static void one_upload_too_many_waits_until_another_rests(void **state)
{
	struct fixture *f = *state;

	for (uint64_t id = 1; id <= UPLOADS_MAX; id++)
		assert_int_equal(add(f, id, 0), 0);
	assert_int_equal(add(f, UPLOADS_MAX + 1, 0), -EBUSY);
	f->now_ns += UPLOAD_IDLE_NS - 1;
	for (uint64_t id = 2; id <= UPLOADS_MAX; id++)
		assert_int_equal(add(f, id, CHUNK_BYTES), 0);
	assert_int_equal(add(f, UPLOADS_MAX + 1, 0), -EBUSY);
	f->now_ns++;
	assert_int_equal(add(f, UPLOADS_MAX + 1, 0), 0);
	assert_int_equal(add(f, 1, CHUNK_BYTES), -EAGAIN);
	assert_int_equal(add_from(f, UPLOADS_MAX + 1, CHUNK_BYTES), 0);
	for (uint64_t id = 2; id <= UPLOADS_MAX; id++)
		assert_int_equal(add_from(f, id, 2 * CHUNK_BYTES), 0);
	assert_int_equal(add_from(f, 1, 0), 0);
}

static void what_is_not_whole_is_bounded_in_bytes(void **state)
{
	struct fixture *f = *state;
	struct upload_chunk chunk = chunk_of(f, 1, 0);

	chunk.size = UPLOAD_MAX_BYTES;
	assert_int_equal(uploaded_symbol_caches_add(f->uploaded, &chunk, f->now_ns), 0);
	assert_int_equal(add(f, 2, 0), -EBUSY);
	/* The same upload may restart in its own slot. */
	chunk.count--;
	assert_int_equal(uploaded_symbol_caches_add(f->uploaded, &chunk, f->now_ns), 0);
	f->now_ns += UPLOAD_IDLE_NS;
	assert_int_equal(add_from(f, 2, 0), 0);
}

static void what_rests_for_long_ends(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 1, 0), 0);
	f->now_ns += UPLOAD_END_NS - 1;
	assert_int_equal(add(f, 1, CHUNK_BYTES), 0);
	f->now_ns += UPLOAD_END_NS;
	/* Another upload replaces it, and its file is deleted from the disk. */
	assert_int_equal(count_temporary(f), 1);
	assert_int_equal(add_from(f, 2, 0), 0);
	assert_int_equal(count_temporary(f), 0);
	assert_int_equal(add(f, 1, 2 * CHUNK_BYTES), -EAGAIN);
}

static void a_chunk_may_come_again(void **state)
{
	struct fixture *f = *state;
	size_t last = (f->size - 1) / CHUNK_BYTES * CHUNK_BYTES;

	for (size_t offset = 0; offset < f->size; offset += CHUNK_BYTES)
		for (int i = 0; i < 2; i++)
			assert_int_equal(add(f, 1, offset), 0);
	assert_int_equal(uploaded_symbol_caches_changes(f->uploaded), 1);
	assert_int_equal(add(f, 1, last), 0);
	assert_int_equal(add(f, 1, last - CHUNK_BYTES), -EAGAIN);
	assert_int_equal(add(f, 2, last), -EAGAIN);
	/* For an upload in progress, only the last chunk may be repeated. */
	assert_int_equal(add(f, 3, 0), 0);
	assert_int_equal(add(f, 3, CHUNK_BYTES), 0);
	assert_int_equal(add(f, 3, 2 * CHUNK_BYTES), 0);
	assert_int_equal(add(f, 3, CHUNK_BYTES), -EAGAIN);
	assert_int_equal(uploaded_symbol_caches_changes(f->uploaded), 1);
}

static const void *mapping_of(const struct fixture *f, const struct binary *values)
{
	struct symbol_cache_source *source = uploaded_symbol_caches_source(f->uploaded);
	struct binary binary = *values;
	struct mapped_symbol_cache *cache = source->ops->get(source, &binary, SYMBOL_DEPTH_FULL);

	mapped_symbol_cache_unref(cache);
	return cache;
}

static void what_is_mapped_stays_so(void **state)
{
	struct fixture *f = *state;
	struct upload_chunk chunk;
	const void *mapped;

	assert_int_equal(add_from(f, 1, 0), 0);
	mapped = mapping_of(f, &by_file_id);
	assert_non_null(mapped);
	assert_ptr_equal(mapping_of(f, &by_build_id), mapped);
	/* The same content again, and under another id. */
	assert_int_equal(add_from(f, 2, 0), 0);
	assert_ptr_equal(mapping_of(f, &by_file_id), mapped);
	for (size_t offset = 0; offset < f->size; offset += CHUNK_BYTES) {
		chunk = chunk_of(f, 3, offset);
		chunk.file_id = NULL;
		chunk.build_id_bytes = 3;
		assert_int_equal(uploaded_symbol_caches_add(f->uploaded, &chunk, f->now_ns), 0);
	}
	assert_ptr_equal(mapping_of(f, &unknown), mapped);
	assert_ptr_equal(mapping_of(f, &by_file_id), mapped);
	assert_int_equal(count_files(f, false), 4);
}

static void a_file_id_of_zeros_is_none(void **state)
{
	static const struct file_id zero;
	static const struct binary without = { .executable_id = 4 };
	struct fixture *f = *state;
	struct upload_chunk chunk = chunk_of(f, 1, 0);

	chunk.file_id = &zero;
	assert_int_equal(uploaded_symbol_caches_add(f->uploaded, &chunk, f->now_ns), -EINVAL);
	assert_null(mapping_of(f, &without));
}

static void chunks_that_make_no_sense_are_refused(void **state)
{
	struct fixture *f = *state;
	struct upload_chunk chunk = chunk_of(f, 0, 0);

	assert_int_equal(uploaded_symbol_caches_add(f->uploaded, &chunk, f->now_ns), -EINVAL);
	chunk = chunk_of(f, 1, 0);
	chunk.count = 0;
	assert_int_equal(uploaded_symbol_caches_add(f->uploaded, &chunk, f->now_ns), -EINVAL);
	chunk = chunk_of(f, 1, 0);
	chunk.size = chunk.count - 1;
	assert_int_equal(uploaded_symbol_caches_add(f->uploaded, &chunk, f->now_ns), -EINVAL);
	chunk = chunk_of(f, 1, 0);
	chunk.offset = UINT64_MAX;
	assert_int_equal(uploaded_symbol_caches_add(f->uploaded, &chunk, f->now_ns), -EINVAL);
	chunk = chunk_of(f, 1, 0);
	chunk.size = UPLOAD_MAX_BYTES + 1;
	assert_int_equal(uploaded_symbol_caches_add(f->uploaded, &chunk, f->now_ns), -E2BIG);
	chunk = chunk_of(f, 1, 0);
	chunk.file_id = NULL;
	chunk.build_id_bytes = 0;
	assert_int_equal(uploaded_symbol_caches_add(f->uploaded, &chunk, f->now_ns), -EINVAL);
	chunk.build_id_bytes = BUILD_ID_MAX_BYTES + 1;
	assert_int_equal(uploaded_symbol_caches_add(f->uploaded, &chunk, f->now_ns), -EINVAL);
	assert_int_equal(add(f, 1, CHUNK_BYTES), -EAGAIN);
	assert_int_equal(add(f, 1, 0), 0);
	assert_int_equal(add(f, 1, 2 * CHUNK_BYTES), -EAGAIN);
	chunk = chunk_of(f, 1, CHUNK_BYTES);
	chunk.size++;
	assert_int_equal(uploaded_symbol_caches_add(f->uploaded, &chunk, f->now_ns), -EAGAIN);
}

static void what_is_damaged_is_refused_and_leaves_nothing(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < f->size; i += f->size / 7) {
		f->bytes[i] ^= 1;
		assert_int_equal(add_from(f, 1, 0), -EBADMSG);
		f->bytes[i] ^= 1;
	}
	assert_int_equal(count_files(f, false), 0);
	assert_int_equal(uploaded_symbol_caches_changes(f->uploaded), 0);
	assert_string_equal(name_of(f, &by_file_id), "");
}

static void a_file_that_is_damaged_on_disk_is_as_none(void **state)
{
	struct fixture *f = *state;
	DIR *directory;
	struct dirent *entry;

	assert_int_equal(add_from(f, 1, 0), 0);
	uploaded_symbol_caches_destroy(f->uploaded);
	directory = opendir(f->directory);
	while ((entry = readdir(directory))) {
		int fd = openat(dirfd(directory), entry->d_name, O_RDWR);
		uint8_t byte = 0x55;

		if (*entry->d_name == '.' || !strstr(entry->d_name, ".uploads"))
			continue;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)f->size / 2), 1);
		byte = 0xaa;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)f->size / 2 + 1), 1);
		close(fd);
	}
	closedir(directory);
	open_store(f);
	assert_string_equal(name_of(f, &by_file_id), "");
	assert_int_equal(add_from(f, 2, 0), 0);
	assert_string_equal(name_of(f, &by_file_id), "uploaded_function");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_found_by_both_ids),
		TEST(chunks_of_several_uploads_may_come_in_turn),
		TEST(one_upload_too_many_waits_until_another_rests),
		TEST(what_is_not_whole_is_bounded_in_bytes),
		TEST(what_rests_for_long_ends),
		TEST(a_chunk_may_come_again),
		TEST(what_is_mapped_stays_so),
		TEST(a_file_id_of_zeros_is_none),
		TEST(chunks_that_make_no_sense_are_refused),
		TEST(what_is_damaged_is_refused_and_leaves_nothing),
		TEST(a_file_that_is_damaged_on_disk_is_as_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
