/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of this program, which is built with debug data, and of copies of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/elf/tests/elf_builder.h"
#include "lib/host/binary_file.h"
#include "lib/host/mapped_file.h"
#include "lib/model/metrics.h"
#include "symbols/symbol_caches.h"
#include "symbols/tests/symbol_caches_fixture.h"

static void symbols_and_lines_are_made_in_the_background(void **state)
{
	struct symbol_caches *store = create(&plain);
	struct binary *binary = own_binary(1);

	(void)state;
	want(store, binary, SYMBOL_DEPTH_FULL);
	expect_local(get(store, binary, SYMBOL_DEPTH_SYMBOLS), false);
	expect_local(get(store, binary, SYMBOL_DEPTH_FULL), true);
	assert_true(symbol_caches_destroy(store));
	binary_unref(binary);
}

static void lines_are_made_when_they_are_asked_for(void **state)
{
	struct symbol_caches *store = create(&plain);
	struct binary *binary = own_binary(1);

	(void)state;
	assert_null(get(store, binary, SYMBOL_DEPTH_FULL));
	assert_true(symbol_caches_wait(store, clock_monotonic_ns() + WAIT_NS));
	/* Nothing is made for a binary that was not requested. */
	assert_null(get(store, binary, SYMBOL_DEPTH_FULL));
	want(store, binary, SYMBOL_DEPTH_SYMBOLS);
	expect_local(get(store, binary, SYMBOL_DEPTH_SYMBOLS), false);
	expect_local(get(store, binary, SYMBOL_DEPTH_FULL), false);
	assert_true(symbol_caches_wait(store, clock_monotonic_ns() + WAIT_NS));
	expect_local(get(store, binary, SYMBOL_DEPTH_FULL), true);
	assert_true(symbol_caches_destroy(store));
	binary_unref(binary);
}

static void copies_of_a_file_share_their_symbol_cache(void **state)
{
	struct symbol_caches *store = create(&plain);
	struct binary *one = own_binary(1), *other = own_binary(2);
	struct mapped_symbol_cache *of_one, *of_other;

	(void)state;
	metrics_reset();
	want(store, one, SYMBOL_DEPTH_FULL);
	want(store, other, SYMBOL_DEPTH_FULL);
	of_one = get(store, one, SYMBOL_DEPTH_FULL);
	of_other = get(store, other, SYMBOL_DEPTH_FULL);
	assert_ptr_equal(of_one, of_other);
	assert_int_equal(metrics_read(METRIC_SYMBOL_CACHES_MADE), 2);
	/* They are valid as long as somebody has a reference. */
	assert_true(symbol_caches_destroy(store));
	mapped_symbol_cache_unref(of_one);
	expect_local(of_other, true);
	binary_unref(one);
	binary_unref(other);
}

static void what_cannot_be_read_is_tried_once(void **state)
{
	struct symbol_caches *store = create(&plain);
	struct binary *text = open_binary("/etc/passwd", 1), *hanging = own_binary(2);
	struct binary kernel = { .executable_id = 3, .fd = -1, .is_kernel = true };

	(void)state;
	hanging->may_hang = true;
	want(store, text, SYMBOL_DEPTH_FULL);
	want(store, hanging, SYMBOL_DEPTH_FULL);
	want(store, &kernel, SYMBOL_DEPTH_FULL);
	for (int i = 0; i < 2; i++) {
		assert_null(get(store, text, SYMBOL_DEPTH_FULL));
		assert_null(get(store, hanging, SYMBOL_DEPTH_FULL));
		assert_null(get(store, &kernel, SYMBOL_DEPTH_FULL));
		assert_true(symbol_caches_wait(store, 0));
	}
	assert_true(symbol_caches_destroy(store));
	hanging->may_hang = false;
	binary_unref(text);
	binary_unref(hanging);
}

/* Prevents new descriptors; returns the previous limit. */
static struct rlimit allow_no_files(void)
{
	struct rlimit limit, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	return limit;
}

static void what_the_system_could_not_do_is_tried_again(void **state)
{
	uint64_t deadline_ns = clock_monotonic_ns() + WAIT_NS;
	struct symbol_caches *store = create(&plain);
	struct binary *binary = own_binary(1);
	struct mapped_symbol_cache *cache;
	struct rlimit limit = allow_no_files();

	(void)state;
	want(store, binary, SYMBOL_DEPTH_FULL);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_null(get(store, binary, SYMBOL_DEPTH_FULL));
	/* Look-ups alone cause the retry, after a while. */
	while (!(cache = get(store, binary, SYMBOL_DEPTH_SYMBOLS)) &&
	       clock_monotonic_ns() < deadline_ns)
		usleep(10000);
	expect_local(cache, false);
	symbol_caches_destroy(store);
	binary_unref(binary);
}

static void files_that_are_held_open_are_bounded(void **state)
{
	struct symbol_caches_options options = plain;
	struct binary *binary = own_binary(1);
	struct mapped_symbol_cache *symbols;
	struct symbol_caches *store;
	size_t symbols_bytes;

	(void)state;
	store = create(&options);
	want(store, binary, SYMBOL_DEPTH_SYMBOLS);
	symbols = get(store, binary, SYMBOL_DEPTH_SYMBOLS);
	assert_non_null(symbols);
	symbols_bytes = symbols->size;
	mapped_symbol_cache_unref(symbols);
	assert_true(symbol_caches_destroy(store));

	/* There is no room for it. */
	options.file_bytes = symbols_bytes - 1;
	store = create(&options);
	want(store, binary, SYMBOL_DEPTH_SYMBOLS);
	assert_null(get(store, binary, SYMBOL_DEPTH_SYMBOLS));
	assert_true(symbol_caches_destroy(store));

	/* There is room for one of the two. */
	metrics_reset();
	store = create(&plain);
	want(store, binary, SYMBOL_DEPTH_FULL);
	symbols = get(store, binary, SYMBOL_DEPTH_FULL);
	options.file_bytes = symbols->size + symbols_bytes - 1;
	mapped_symbol_cache_unref(symbols);
	assert_true(symbol_caches_destroy(store));
	assert_int_equal(metrics_read(METRIC_SYMBOL_CACHES_DROPPED), 0);
	store = create(&options);
	want(store, binary, SYMBOL_DEPTH_FULL);
	assert_int_equal(metrics_read(METRIC_SYMBOL_CACHES_DROPPED), 1);
	expect_local(get(store, binary, SYMBOL_DEPTH_FULL), true);
	/* The other one is made again when it is requested. */
	assert_null(get(store, binary, SYMBOL_DEPTH_SYMBOLS));
	assert_true(symbol_caches_wait(store, clock_monotonic_ns() + WAIT_NS));
	expect_local(get(store, binary, SYMBOL_DEPTH_SYMBOLS), false);
	assert_true(symbol_caches_destroy(store));
	binary_unref(binary);
}

enum damage {
	DAMAGE_BYTE,
	DAMAGE_HALF_IS_GONE,
	DAMAGE_HEAD_IS_LEFT,
	DAMAGE_LAST_BYTE_IS_GONE,
	DAMAGE_ALL_IS_GONE,
	DAMAGE_COUNT,
};

static void damage_file(int fd, off_t size, enum damage damage)
{
	const off_t cut[] = {
		[DAMAGE_HALF_IS_GONE] = size / 2,
		[DAMAGE_HEAD_IS_LEFT] = sizeof(struct symbol_cache_header),
		[DAMAGE_LAST_BYTE_IS_GONE] = size - 1,
		[DAMAGE_ALL_IS_GONE] = 0,
	};
	char byte;

	if (damage != DAMAGE_BYTE) {
		assert_int_equal(ftruncate(fd, cut[damage]), 0);
		return;
	}
	assert_int_equal(pread(fd, &byte, 1, size / 2), 1);
	byte ^= 4;
	assert_int_equal(pwrite(fd, &byte, 1, size / 2), 1);
}

/* Damages each file in the directory; returns the number of files. */
static int damage_files(const char *directory, enum damage damage)
{
	DIR *stream = opendir(directory);
	struct dirent *entry;
	int count = 0;

	while ((entry = readdir(stream))) {
		int fd = openat(dirfd(stream), entry->d_name, O_RDWR);
		struct stat status;

		if (fd < 0)
			continue;
		assert_int_equal(fstat(fd, &status), 0);
		damage_file(fd, status.st_size, damage);
		close(fd);
		count++;
	}
	closedir(stream);
	return count;
}

/* Requests symbol caches with a cache in @directory, and returns how many were made. */
static uint64_t make_with_cache(const char *directory)
{
	struct symbol_caches_options options = plain;
	struct binary *binary = own_binary(1);
	struct symbol_caches *store;

	metrics_reset();
	assert_int_equal(file_cache_create(directory, ".ranges", 64 << 20, &options.work.cache), 0);
	store = create(&options);
	want(store, binary, SYMBOL_DEPTH_FULL);
	expect_local(get(store, binary, SYMBOL_DEPTH_SYMBOLS), false);
	expect_local(get(store, binary, SYMBOL_DEPTH_FULL), true);
	assert_int_equal(metrics_read(METRIC_SYMBOL_CACHES_MADE) +
				 metrics_read(METRIC_SYMBOL_CACHES_CACHED),
			 2);
	assert_true(symbol_caches_destroy(store));
	binary_unref(binary);
	return metrics_read(METRIC_SYMBOL_CACHES_MADE);
}

static void the_disk_cache_keeps_them_and_damage_is_found(void **state)
{
	char directory[] = "/tmp/symbol_caches_test.XXXXXX", command[PATH_BYTES];

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(make_with_cache(directory), 2);
	assert_int_equal(make_with_cache(directory), 0);
	for (enum damage damage = 0; damage < DAMAGE_COUNT; damage++) {
		assert_int_equal(damage_files(directory, damage), 2);
		assert_int_equal(make_with_cache(directory), 2);
		assert_int_equal(make_with_cache(directory), 0);
	}
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

/* A file whose DWARF takes minutes: it has that many empty units. */
static struct binary *slow_binary(uint64_t executable_id)
{
	enum { UNITS = 1000000, UNIT_BYTES = 12 };
	static const uint8_t abbreviations[] = { 1, 0x11, 0, 0, 0, 0 };
	static const uint8_t unit[UNIT_BYTES] = { UNIT_BYTES - 4, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1 };
	static struct elf_builder builder;
	uint8_t *units = malloc((size_t)UNITS * UNIT_BYTES);
	const struct binary values = {
		.executable_id = executable_id,
		.fd = memfd_create("slow", MFD_CLOEXEC),
		.path = "slow",
	};
	uint32_t section;

	assert_true(values.fd >= 0 && units);
	elf_builder_init(&builder, 1);
	elf_builder_add(&builder, ".debug_abbrev", SHT_PROGBITS, 0, abbreviations,
			sizeof(abbreviations));
	section = elf_builder_add(&builder, ".debug_info", SHT_PROGBITS, 0, "", 0);
	elf_builder_finish(&builder);
	built_header(&builder)->e_ident[EI_VERSION] = EV_CURRENT;
	built_header(&builder)->e_version = EV_CURRENT;
	built_header(&builder)->e_ehsize = sizeof(Elf64_Ehdr);
	built_section(&builder, section)->sh_offset = BUILT_BYTES;
	built_section(&builder, section)->sh_size = (size_t)UNITS * UNIT_BYTES;
	for (size_t i = 0; i < UNITS; i++)
		memcpy(units + i * UNIT_BYTES, unit, UNIT_BYTES);
	assert_int_equal(pwrite(values.fd, builder.bytes, BUILT_BYTES, 0), BUILT_BYTES);
	assert_int_equal(pwrite(values.fd, units, (size_t)UNITS * UNIT_BYTES, BUILT_BYTES),
			 UNITS * UNIT_BYTES);
	free(units);
	return binary_create(&values);
}

static void dwarf_that_takes_long_holds_up_no_symbols(void **state)
{
	struct symbol_caches_options options = plain;
	struct binary *slow = slow_binary(1), *small = own_binary(2);
	struct symbol_caches *store;
	uint64_t changes;
	size_t waiting;

	(void)state;
	options.work.limits.cpu_ns = 3 * NS_PER_SECOND;
	metrics_reset();
	store = create(&options);
	symbol_caches_want(store, slow, 0, SYMBOL_DEPTH_FULL);
	assert_true(symbol_caches_wait_symbols(store, clock_monotonic_ns() + WAIT_NS));
	symbol_caches_want(store, small, 0, SYMBOL_DEPTH_FULL);
	assert_true(symbol_caches_wait_symbols(store, clock_monotonic_ns() + WAIT_NS));
	expect_local(get(store, small, SYMBOL_DEPTH_FULL), false);
	/* The other one is still being read. */
	symbol_caches_progress(store, &waiting, &changes);
	assert_int_equal(waiting, 2);
	/* Only the slow file fails. */
	assert_true(symbol_caches_wait(store, clock_monotonic_ns() + 4 * WAIT_NS));
	assert_int_equal(metrics_read(METRIC_SYMBOL_CACHES_FAILED), 1);
	expect_local(get(store, small, SYMBOL_DEPTH_FULL), true);
	assert_true(symbol_caches_destroy(store));
	binary_unref(slow);
	binary_unref(small);
}

static void dwarf_of_a_file_that_is_in_the_way_is_not_read_on(void **state)
{
	struct binary *slow = slow_binary(1);
	int again = fcntl(slow->fd, F_DUPFD_CLOEXEC, 0);
	struct symbol_caches *store = create(&plain);
	uint64_t changes;
	size_t waiting;

	(void)state;
	metrics_reset();
	assert_int_equal(file_key_of_fd(slow->fd, &slow->key), 0);
	/* The device of no real file system, and not the root's. */
	slow->key.device = 0;
	symbol_caches_want(store, slow, 0, SYMBOL_DEPTH_FULL);
	assert_true(symbol_caches_wait_symbols(store, clock_monotonic_ns() + WAIT_NS));
	symbol_caches_progress(store, &waiting, &changes);
	assert_int_equal(waiting, 1);
	binary_file_let_go(slow);
	assert_true(symbol_caches_wait(store, clock_monotonic_ns() + WAIT_NS));
	assert_int_equal(slow->fd, -1);
	/* No process runs it yet. */
	symbol_caches_want(store, slow, 0, SYMBOL_DEPTH_FULL);
	symbol_caches_progress(store, &waiting, &changes);
	assert_int_equal(waiting, 0);
	binary_file_take(slow, again, NULL);
	symbol_caches_want(store, slow, 0, SYMBOL_DEPTH_FULL);
	symbol_caches_progress(store, &waiting, &changes);
	assert_int_equal(waiting, 1);
	binary_file_let_go(slow);
	assert_true(symbol_caches_wait(store, clock_monotonic_ns() + WAIT_NS));
	assert_true(symbol_caches_destroy(store));
	binary_unref(slow);
}

static void what_takes_more_memory_than_allowed_is_tried_once(void **state)
{
	struct symbol_caches_options options = plain;
	struct binary *binary = own_binary(1);
	struct symbol_caches *store;

	(void)state;
	options.work.limits.memory_bytes = 64 << 10;
	store = create(&options);
	metrics_reset();
	want(store, binary, SYMBOL_DEPTH_FULL);
	expect_local(get(store, binary, SYMBOL_DEPTH_FULL), false);
	assert_int_equal(metrics_read(METRIC_SYMBOL_CACHES_FAILED), 1);
	/* After the time of the next retry. */
	usleep(1200 * 1000);
	expect_local(get(store, binary, SYMBOL_DEPTH_FULL), false);
	assert_true(symbol_caches_wait(store, clock_monotonic_ns() + WAIT_NS));
	assert_int_equal(metrics_read(METRIC_SYMBOL_CACHES_FAILED), 1);
	assert_true(symbol_caches_destroy(store));
	binary_unref(binary);
}

/* A file system that does not answer until it is released. */
struct slow_devices {
	int go[2];
	/* Written to when it is accessed. */
	int asked[2];
	struct symbol_caches *store;
};

static bool wait_for_go(void *context, pid_t pid, uint32_t major, uint32_t minor)
{
	const struct slow_devices *slow = context;
	char byte = 0;

	(void)pid;
	(void)major;
	(void)minor;
	assert_int_equal(write(slow->asked[1], &byte, 1), 1);
	return read(slow->go[0], &byte, 1) == 1;
}

/* Starts a store whose thread hangs at @binary. */
static void start_slow(struct slow_devices *slow, struct binary *binary)
{
	struct symbol_caches_options options = plain;
	char byte;

	assert_int_equal(pipe(slow->go), 0);
	assert_int_equal(pipe(slow->asked), 0);
	options.work.proc_root = "/proc";
	options.work.judge.may_read = wait_for_go;
	options.work.judge.context = slow;
	slow->store = create(&options);
	symbol_caches_want(slow->store, binary, getpid(), SYMBOL_DEPTH_SYMBOLS);
	assert_int_equal(read(slow->asked[0], &byte, 1), 1);
	assert_false(symbol_caches_wait(slow->store, clock_monotonic_ns() + 10 * NS_PER_MS));
}

static void a_thread_that_hangs_is_left_behind(void **state)
{
	static struct slow_devices slow;
	struct binary *binary = own_binary(1);
	uint64_t begin_ns = clock_monotonic_ns();

	(void)state;
	start_slow(&slow, binary);
	assert_false(symbol_caches_destroy(slow.store));
	assert_true(clock_monotonic_ns() - begin_ns < WAIT_NS);
	assert_null(get(slow.store, binary, SYMBOL_DEPTH_SYMBOLS));
	/* The thread ends by itself. */
	close(slow.go[1]);
	assert_true(symbol_caches_wait(slow.store, clock_monotonic_ns() + WAIT_NS));
	binary_unref(binary);
}

static void what_comes_late_changes_no_answer(void **state)
{
	static struct slow_devices slow;
	struct binary *binary = own_binary(1);

	(void)state;
	start_slow(&slow, binary);
	symbol_caches_freeze(slow.store);
	close(slow.go[1]);
	assert_true(symbol_caches_wait(slow.store, clock_monotonic_ns() + WAIT_NS));
	assert_null(get(slow.store, binary, SYMBOL_DEPTH_SYMBOLS));
	assert_true(symbol_caches_destroy(slow.store));
	close(slow.go[0]);
	binary_unref(binary);
}

int main(int argument_count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_and_lines_are_made_in_the_background),
		cmocka_unit_test(lines_are_made_when_they_are_asked_for),
		cmocka_unit_test(copies_of_a_file_share_their_symbol_cache),
		cmocka_unit_test(what_cannot_be_read_is_tried_once),
		cmocka_unit_test(what_the_system_could_not_do_is_tried_again),
		cmocka_unit_test(files_that_are_held_open_are_bounded),
		cmocka_unit_test(the_disk_cache_keeps_them_and_damage_is_found),
		cmocka_unit_test(dwarf_that_takes_long_holds_up_no_symbols),
		cmocka_unit_test(dwarf_of_a_file_that_is_in_the_way_is_not_read_on),
		cmocka_unit_test(what_takes_more_memory_than_allowed_is_tried_once),
		cmocka_unit_test(a_thread_that_hangs_is_left_behind),
		cmocka_unit_test(what_comes_late_changes_no_answer),
	};

	symbol_cache_maker_enter(argument_count, arguments);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
