/* SPDX-License-Identifier: Apache-2.0 */
/* When files are looked at, and what is kept, over a made-up process and made-up times. */
#include "agent/processes/tests/fakes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/processes/perf_maps.h"
#include "agent/processes/trace_handler.h"
#include "agent/runtimes/tests/local_files.h"
#include "agent/runtimes/tests/local_proc.h"
#include "ebpf/abi/frame.h"
#include "lib/base/clock.h"
#include "lib/host/jitdump.h"

struct fixture {
	struct fake_proc proc;
	struct perf_maps *maps;
	struct local_files files;
	struct local_proc reads;
	struct process_identity identity;
	uint32_t request_count;
};

static void request(void *context, uint32_t pid, const struct process_identity *identity)
{
	struct fixture *fixture = context;

	(void)pid;
	(void)identity;
	fixture->request_count++;
}

static void write_names(struct fixture *fixture, uint32_t pid, const char *mode, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u/root/tmp/perf-%u.map", fixture->proc.root, pid, pid);
	file = fopen(path, mode);
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void make_process(struct fixture *fixture, uint32_t pid)
{
	char text[128];

	snprintf(text, sizeof(text), "Uid:\t%u\t%u\t%u\t%u\nNSpid:\t%u\n", getuid(), getuid(),
		 getuid(), getuid(), pid);
	fake_proc_write(&fixture->proc, pid, "status", text);
	snprintf(text, sizeof(text), "%s/%u/root", fixture->proc.root, pid);
	mkdir(text, 0700);
	strcat(text, "/tmp");
	mkdir(text, 0700);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct perf_maps_config config = { .request = request, .context = fixture };

	fake_proc_init(&fixture->proc);
	config.proc_root = fixture->proc.root;
	local_files_init(&fixture->files, fixture->proc.root);
	config.files = &fixture->files.home;
	local_proc_init(&fixture->reads, fixture->proc.root);
	config.reads = &fixture->reads.home;
	assert_int_equal(perf_maps_create(&config, &fixture->maps), 0);
	fixture->identity = (struct process_identity){ .start_time_ns = clock_monotonic_ns() };
	make_process(fixture, 7);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	perf_maps_destroy(fixture->maps);
	local_files_deinit(&fixture->files);
	fake_proc_deinit(&fixture->proc);
	free(fixture);
	return 0;
}

/* Asks, and does what is requested; true if something was. */
static bool ask(struct fixture *fixture, uint32_t pid, uint64_t now_ns, uint64_t *names_state)
{
	uint32_t before = fixture->request_count;
	uint64_t asked = perf_maps_ask(fixture->maps, pid, &fixture->identity, now_ns);

	if (names_state)
		*names_state = asked;
	if (fixture->request_count == before)
		return false;
	/* Nobody asks twice for what is on its way. */
	perf_maps_ask(fixture->maps, pid, &fixture->identity, now_ns);
	assert_int_equal(fixture->request_count, before + 1);
	perf_maps_read(fixture->maps, pid, &fixture->identity, now_ns);
	return true;
}

/* The name of a stack's only frame, copied to @code; NULL if it has none. */
static const char *copy_name(struct fixture *fixture, uint32_t pid, uint8_t flags, uint64_t address,
			     struct stack_code *code)
{
	const uint64_t words[] = { frame_word(FRAME_NATIVE, flags, address),
				   EXECUTABLE_ID_ANONYMOUS };
	struct code_location location;

	perf_maps_copy(fixture->maps, pid, &fixture->identity, words, 2, code);
	return stack_code_find(code, 0, &location) ? location.function : NULL;
}

static void check_name(struct fixture *fixture, uint32_t pid, uint64_t address,
		       const char *expected)
{
	struct stack_code code = { 0 };
	const char *name = copy_name(fixture, pid, 0, address, &code);

	if (expected)
		assert_string_equal(name, expected);
	else
		assert_null(name);
	stack_code_deinit(&code);
}

static void names_are_read_as_the_file_grows(void **state)
{
	struct fixture *fixture = *state;
	uint64_t now_ns = NS_PER_SECOND, first, second;

	write_names(fixture, 7, "w", "1000 10 one\n2000 10 cut o");
	assert_true(ask(fixture, 7, now_ns, &first));
	assert_int_equal(first, 0);
	check_name(fixture, 7, 0x1000, "one");
	check_name(fixture, 7, 0x2000, NULL);
	assert_false(ask(fixture, 7, now_ns + PERF_MAP_MIN_NS - 1, &first));
	assert_true(first > 0);
	write_names(fixture, 7, "a", "ff\n1000 10 again\n");
	now_ns += PERF_MAP_MIN_NS;
	assert_true(ask(fixture, 7, now_ns, NULL));
	assert_false(ask(fixture, 7, now_ns, &second));
	assert_true(second != first);
	check_name(fixture, 7, 0x1000, "again");
	check_name(fixture, 7, 0x2000, "cut off");
}

static void a_file_that_does_not_change_is_looked_at_ever_more_rarely(void **state)
{
	struct fixture *fixture = *state;
	uint64_t before, after;
	uint32_t count = 0;

	write_names(fixture, 7, "w", "1000 10 one\n");
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	ask(fixture, 7, NS_PER_SECOND, &before);
	for (uint64_t time_ns = 0; time_ns < 20 * NS_PER_SECOND; time_ns += 10 * NS_PER_MS)
		count += ask(fixture, 7, NS_PER_SECOND + time_ns, NULL);
	assert_in_range(count, 15, 25);
	ask(fixture, 7, 21 * NS_PER_SECOND, &after);
	assert_int_equal(before, after);
	/* One that is not there costs less still. */
	count = 0;
	make_process(fixture, 8);
	for (uint64_t time_ns = 0; time_ns < 64 * NS_PER_SECOND; time_ns += 10 * NS_PER_MS)
		count += ask(fixture, 8, NS_PER_SECOND + time_ns, NULL);
	assert_in_range(count, 6, 14);
}

static void a_file_that_is_another_or_was_cut_is_read_anew(void **state)
{
	struct fixture *fixture = *state;
	char path[256], old_path[256];

	write_names(fixture, 7, "w", "1000 10 one\n2000 10 two\n");
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	write_names(fixture, 7, "w", "3000 10 three\n");
	assert_true(ask(fixture, 7, 2 * NS_PER_SECOND, NULL));
	check_name(fixture, 7, 0x1000, NULL);
	check_name(fixture, 7, 0x3000, "three");
	snprintf(path, sizeof(path), "%s/7/root/tmp/perf-7.map", fixture->proc.root);
	snprintf(old_path, sizeof(old_path), "%s/7/root/tmp/old", fixture->proc.root);
	assert_int_equal(rename(path, old_path), 0);
	write_names(fixture, 7, "w", "4000 10 a longer name than the one before\n");
	assert_true(ask(fixture, 7, 4 * NS_PER_SECOND, NULL));
	check_name(fixture, 7, 0x3000, NULL);
	check_name(fixture, 7, 0x4000, "a longer name than the one before");
}

/* Writes as write_names(), @seconds after the beginning of the test. */
static void write_later(struct fixture *fixture, const char *mode, const char *text, int seconds)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
	char path[256];

	write_names(fixture, 7, mode, text);
	times[1].tv_sec = (time_t)(clock_realtime_ns() / NS_PER_SECOND) + seconds;
	snprintf(path, sizeof(path), "%s/7/root/tmp/perf-7.map", fixture->proc.root);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void a_file_that_is_rewritten_is_read_anew(void **state)
{
	struct fixture *fixture = *state;

	write_names(fixture, 7, "w", "1000 10 one\n");
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	/* As long as before, then longer. */
	write_later(fixture, "w", "2000 10 two\n", 10);
	assert_true(ask(fixture, 7, 2 * NS_PER_SECOND, NULL));
	check_name(fixture, 7, 0x1000, NULL);
	check_name(fixture, 7, 0x2000, "two");
	write_later(fixture, "w", "3000 10 three\n4000 10 four\n", 20);
	assert_true(ask(fixture, 7, 4 * NS_PER_SECOND, NULL));
	check_name(fixture, 7, 0x2000, NULL);
	check_name(fixture, 7, 0x3000, "three");
	/* A file that has only grown is read on. */
	write_later(fixture, "a", "5000 10 five\n", 30);
	assert_true(ask(fixture, 7, 8 * NS_PER_SECOND, NULL));
	check_name(fixture, 7, 0x3000, "three");
	check_name(fixture, 7, 0x5000, "five");
}

static void another_program_in_the_pid_has_none_of_its_names(void **state)
{
	struct fixture *fixture = *state;

	write_names(fixture, 7, "w", "1000 10 one\n");
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	check_name(fixture, 7, 0x1000, "one");
	fixture->identity.exec_id++;
	check_name(fixture, 7, 0x1000, NULL);
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	/* A file from long before its start is none of its own. */
	fixture->identity.start_time_ns += 10 * NS_PER_SECOND;
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	check_name(fixture, 7, 0x1000, NULL);
}

static void names_that_nobody_asks_for_are_forgotten(void **state)
{
	struct fixture *fixture = *state;

	write_names(fixture, 7, "w", "1000 10 one\n");
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	perf_maps_expire(fixture->maps, NS_PER_SECOND + PERF_MAP_KEEP_NS);
	check_name(fixture, 7, 0x1000, "one");
	perf_maps_expire(fixture->maps, NS_PER_SECOND + PERF_MAP_KEEP_NS + 1);
	check_name(fixture, 7, 0x1000, NULL);
	/* A request that was lost is made again. */
	perf_maps_ask(fixture->maps, 7, &fixture->identity, NS_PER_SECOND);
	perf_maps_request_dropped(fixture->maps, 7);
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	check_name(fixture, 7, 0x1000, "one");
}

static void a_long_file_is_read_bit_by_bit(void **state)
{
	struct fixture *fixture = *state;
	size_t bytes = PERF_MAPS_BYTES_PER_SECOND + (2 << 20);
	char *text = malloc(bytes + 1);
	uint64_t now_ns = NS_PER_SECOND;

	assert_non_null(text);
	memset(text, '-', bytes);
	for (size_t i = 999; i < bytes; i += 1000)
		text[i] = '\n';
	text[bytes - 1] = '\n';
	text[bytes] = '\0';
	write_names(fixture, 7, "w", text);
	write_names(fixture, 7, "a", "1000 10 last\n");
	free(text);
	for (int i = 0; i < 9; i++) {
		ask(fixture, 7, now_ns, NULL);
		check_name(fixture, 7, 0x1000, NULL);
		now_ns += PERF_MAP_MIN_NS;
	}
	/* That was as much as may be read in a second. */
	for (int i = 0; i < 9; i++)
		ask(fixture, 7, 2 * NS_PER_SECOND + i * PERF_MAP_MIN_NS, NULL);
	check_name(fixture, 7, 0x1000, "last");
}

static void write_many(struct fixture *fixture, uint32_t pid, uint32_t count)
{
	char *text = malloc((size_t)count * 80 + 1), *at = text;

	assert_non_null(text);
	for (uint32_t i = 0; i < count; i++)
		at += sprintf(at, "%x 10 %060u\n", 0x1000 + i * 16, i);
	write_names(fixture, pid, "w", text);
	free(text);
}

static void over_the_limit_of_all_the_names_asked_for_longest_ago_go(void **state)
{
	struct fixture *fixture = *state;
	uint32_t with_names = 0;

	for (uint32_t pid = 10; pid < 16; pid++) {
		make_process(fixture, pid);
		write_many(fixture, pid, 40000);
		for (int i = 0; i < 10; i++)
			ask(fixture, pid, pid * 2 * NS_PER_SECOND + i * PERF_MAP_MIN_NS, NULL);
	}
	for (uint32_t pid = 10; pid < 16; pid++) {
		struct stack_code code = { 0 };

		with_names += !!copy_name(fixture, pid, 0, 0x1000, &code);
		stack_code_deinit(&code);
	}
	assert_in_range(with_names, 1, 4);
	check_name(fixture, 15, 0x1000,
		   "000000000000000000000000000000000000000000000000000000000000");
	check_name(fixture, 10, 0x1000, NULL);
}

static void a_process_with_too_many_names_keeps_what_there_is_room_for(void **state)
{
	struct fixture *fixture = *state;
	char name[64];

	write_many(fixture, 7, CODE_NAMES_MAX_FUNCTIONS + 10000);
	for (uint64_t i = 0; i < 20; i++)
		ask(fixture, 7, i * NS_PER_SECOND, NULL);
	check_name(fixture, 7, 0x1000,
		   "000000000000000000000000000000000000000000000000000000000000");
	check_name(fixture, 7, 0x1000 + 16 * (CODE_NAMES_MAX_FUNCTIONS + 9999), NULL);
	/* Changes of the memory are still followed. */
	write_names(fixture, 7, "a", "1000 100000 large\n200000 10 new\n");
	ask(fixture, 7, 100 * NS_PER_SECOND, NULL);
	check_name(fixture, 7, 0x1000, "large");
	check_name(fixture, 7, 0x200000, "new");
	snprintf(name, sizeof(name), "%060u", (0x180000 - 0x1000) / 16);
	check_name(fixture, 7, 0x180000, name);
}

/* --- copies --- */

static void copied_names_stay_what_they_are(void **state)
{
	struct fixture *fixture = *state;
	struct stack_code code = { 0 };
	const char *name;

	write_names(fixture, 7, "w", "1000 10 one\n1010 10 two\n");
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	name = copy_name(fixture, 7, 0, 0x1010, &code);
	assert_string_equal(name, "two");
	write_names(fixture, 7, "a", "1010 10 other\n");
	assert_true(ask(fixture, 7, 2 * NS_PER_SECOND, NULL));
	check_name(fixture, 7, 0x1010, "other");
	perf_maps_expire(fixture->maps, 2 * NS_PER_SECOND + PERF_MAP_KEEP_NS + 1);
	check_name(fixture, 7, 0x1010, NULL);
	assert_string_equal(name, "two");
	/* The next copy replaces them; a return address belongs to the function before it. */
	write_names(fixture, 7, "w", "1000 10 one\n1010 10 two\n");
	assert_true(ask(fixture, 7, 200 * NS_PER_SECOND, NULL));
	assert_string_equal(copy_name(fixture, 7, FRAME_RETURN_ADDRESS, 0x1010, &code), "one");
	assert_int_equal(code.names.count, 1);
	stack_code_deinit(&code);
}

static void only_frames_in_anonymous_code_get_names(void **state)
{
	const uint64_t words[] = {
		frame_word(FRAME_NATIVE, 0, 0x1000),
		EXECUTABLE_ID_FIRST,
		frame_word(FRAME_NATIVE, 0, 0x1000),
		EXECUTABLE_ID_ANONYMOUS,
		frame_word(FRAME_NATIVE, 0, 0x5000),
		EXECUTABLE_ID_ANONYMOUS,
		frame_word(FRAME_NATIVE, 0, 0x2000),
		EXECUTABLE_ID_ANONYMOUS,
		frame_word(FRAME_ERROR, UNWIND_NO_INFO, 0x1000),
	};
	struct fixture *fixture = *state;
	struct stack_code code = { 0 };
	struct code_location location;

	write_names(fixture, 7, "w", "1000 10 one\n2000 10 two\n");
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	perf_maps_copy(fixture->maps, 7, &fixture->identity, words, 9, &code);
	assert_false(code.is_cut);
	assert_int_equal(code.names.count, 2);
	assert_false(stack_code_find(&code, 0, &location));
	assert_true(stack_code_find(&code, 2, &location));
	assert_string_equal(location.function, "one");
	assert_null(location.file);
	assert_false(stack_code_find(&code, 4, &location));
	assert_true(stack_code_find(&code, 6, &location));
	assert_string_equal(location.function, "two");
	assert_false(stack_code_find(&code, 8, &location));
	stack_code_deinit(&code);
}

static void the_names_of_one_stack_are_bounded(void **state)
{
	enum { FRAMES = 3000 };
	struct fixture *fixture = *state;
	uint64_t words[2 * FRAMES];
	struct stack_code code = { 0 };
	struct code_location location;
	char name[512];

	memset(name, 'n', sizeof(name) - 1);
	memcpy(name, "1000 10 ", 8);
	name[sizeof(name) - 2] = '\n';
	name[sizeof(name) - 1] = '\0';
	write_names(fixture, 7, "w", name);
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	for (int i = 0; i < FRAMES; i++) {
		words[2 * i] = frame_word(FRAME_NATIVE, 0, 0x1000);
		words[2 * i + 1] = EXECUTABLE_ID_ANONYMOUS;
	}
	perf_maps_copy(fixture->maps, 7, &fixture->identity, words, 2 * FRAMES, &code);
	assert_true(code.is_cut);
	assert_true(code.text.count <= STACK_CODE_MAX_BYTES);
	assert_true(code.text.count > STACK_CODE_MAX_BYTES - sizeof(name));
	assert_true(stack_code_find(&code, 0, &location));
	assert_false(stack_code_find(&code, 2 * FRAMES - 2, &location));
	perf_maps_copy(fixture->maps, 7, &fixture->identity, words, 2, &code);
	assert_false(code.is_cut);
	assert_true(stack_code_find(&code, 0, &location));
	stack_code_deinit(&code);
}

/* --- jitdump files --- */

static void put_number(FILE *file, uint64_t number, int bytes)
{
	for (int i = 0; i < bytes; i++)
		fputc(i < 8 ? number >> 8 * i & 0xff : 0, file);
}

/* A function of 16 bytes, of whose code @code_bytes are in the file. */
static void put_load_with_code(FILE *file, uint64_t start, const char *name, int code_bytes)
{
	put_number(file, 0, 4);
	put_number(file, 56 + strlen(name) + 1 + code_bytes, 4);
	put_number(file, 0, 8 + 8 + 8);
	put_number(file, start, 8);
	put_number(file, 16, 8);
	put_number(file, 0, 8);
	fwrite(name, strlen(name) + 1, 1, file);
	put_number(file, 0, code_bytes);
}

static void put_load(FILE *file, uint64_t start, const char *name)
{
	put_load_with_code(file, start, name, 0);
}

/* A file of process 7 with one function, mapped as @name. */
static void write_jitdump(struct fixture *fixture, const char *name, uint64_t start,
			  const char *function)
{
	char path[256], maps[512];
	struct stat status;
	FILE *file;

	snprintf(path, sizeof(path), "%s/7/root/tmp/%s", fixture->proc.root, name);
	file = fopen(path, "w");
	assert_non_null(file);
	put_number(file, 0x4a695444, 4);
	put_number(file, 1, 4);
	put_number(file, 40, 4);
	put_number(file, 0, 28);
	put_load(file, start, function);
	fclose(file);
	assert_int_equal(stat(path, &status), 0);
	snprintf(
		maps, sizeof(maps),
		"1000-2000 r-xp 00000000 00:00 0\n5000-6000 r-xp 00000000 %02x:%02x %lu    /tmp/%s\n",
		major(status.st_dev), minor(status.st_dev), (unsigned long)status.st_ino, name);
	fake_proc_write(&fixture->proc, 7, "maps", maps);
}

static FILE *append_to_jitdump(struct fixture *fixture)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/7/root/tmp/jit-7.dump", fixture->proc.root);
	file = fopen(path, "a");
	assert_non_null(file);
	return file;
}

static void a_jitdump_file_goes_before_a_perf_map_and_is_read_on(void **state)
{
	struct fixture *fixture = *state;
	uint64_t now_ns = NS_PER_SECOND, before, after;
	char path[256];
	FILE *file;

	write_names(fixture, 7, "w", "1000 10 of the map\n2000 10 of the map alone\n");
	write_jitdump(fixture, "jit-7.dump", 0x1000, "of the dump");
	assert_true(ask(fixture, 7, now_ns, NULL));
	ask(fixture, 7, now_ns, &before);
	check_name(fixture, 7, 0x1008, "of the dump");
	check_name(fixture, 7, 0x2000, "of the map alone");
	snprintf(path, sizeof(path), "%s/7/root/tmp/jit-7.dump", fixture->proc.root);
	file = fopen(path, "a");
	assert_non_null(file);
	put_load(file, 0x2008, "new");
	fclose(file);
	now_ns += PERF_MAP_MIN_NS;
	assert_true(ask(fixture, 7, now_ns, NULL));
	ask(fixture, 7, now_ns, &after);
	assert_true(before != after);
	check_name(fixture, 7, 0x1008, "of the dump");
	check_name(fixture, 7, 0x2008, "new");
	/* Another file takes all of its names away, and none of the map's. */
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/7/root/tmp/keeps-the-inode", fixture->proc.root);
	assert_int_equal(mkdir(path, 0700), 0);
	write_jitdump(fixture, "jit-7.dump", 0x9000, "other");
	ask(fixture, 7, now_ns + 40 * NS_PER_SECOND, NULL);
	check_name(fixture, 7, 0x1008, "of the map");
	check_name(fixture, 7, 0x9000, "other");
}

static void the_jitdump_file_of_another_process_is_none(void **state)
{
	struct fixture *fixture = *state;

	write_jitdump(fixture, "jit-8.dump", 0x1000, "of a parent");
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	check_name(fixture, 7, 0x1000, NULL);
	/* It is looked for again, though not at once. */
	write_jitdump(fixture, "jit-7.dump", 0x1000, "its own");
	assert_true(ask(fixture, 7, 20 * NS_PER_SECOND, NULL));
	check_name(fixture, 7, 0x1000, "its own");
}

static void a_broken_jitdump_file_has_no_names(void **state)
{
	struct fixture *fixture = *state;
	uint64_t before, after;
	FILE *file;

	write_jitdump(fixture, "jit-7.dump", 0x1000, "one");
	file = append_to_jitdump(fixture);
	put_number(file, 0, 16);
	put_load(file, 0x2000, "behind it");
	fclose(file);
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	ask(fixture, 7, NS_PER_SECOND, &before);
	assert_true(ask(fixture, 7, 4 * NS_PER_SECOND, NULL));
	ask(fixture, 7, 4 * NS_PER_SECOND, &after);
	assert_int_equal(before, after);
	check_name(fixture, 7, 0x1000, NULL);
	check_name(fixture, 7, 0x2000, NULL);
}

static void code_that_is_longer_than_a_read_is_skipped(void **state)
{
	struct fixture *fixture = *state;
	FILE *file;

	write_jitdump(fixture, "jit-7.dump", 0x1000, "before");
	file = append_to_jitdump(fixture);
	put_load_with_code(file, 0x2000, "long", 3 * JITDUMP_READ_BYTES);
	put_load(file, 0x3000, "behind it");
	fclose(file);
	assert_true(ask(fixture, 7, NS_PER_SECOND, NULL));
	check_name(fixture, 7, 0x1000, "before");
	check_name(fixture, 7, 0x2000, "long");
	check_name(fixture, 7, 0x3000, "behind it");
}

/* --- through the trace handler --- */

static void frames_have_the_name_that_their_memory_has_now(void **state)
{
	const struct executable_cache_config cache_config = {};
	struct fixture *fixture = *state;
	struct process_table table;
	struct fake_reporter reporter;
	struct trace_handler_config config = {
		.table = &table,
		.reporter = &reporter.reporter,
		.perf_maps = fixture->maps,
	};
	struct {
		struct trace_record head;
		uint64_t words[2];
	} record = {
		.head = {
			.time_ns = NS_PER_SECOND,
			.pid = 7,
			.identity = fixture->identity,
			.type = RECORD_TRACE,
			.word_count = 2,
		},
		.words = { frame_word(FRAME_NATIVE, 0, 0x1008), EXECUTABLE_ID_ANONYMOUS },
	};
	struct trace_handler *handler;
	struct hash128 hash;

	process_table_init(&table);
	fake_reporter_init(&reporter);
	assert_int_equal(executable_cache_create(&cache_config, &config.executables), 0);
	assert_int_equal(trace_handler_create(&config, &handler), 0);
	trace_handler_handle(handler, &record.head, sizeof(record), NS_PER_SECOND);
	assert_int_equal(fixture->request_count, 1);
	assert_null(trace_frame(reporter.last, 0).function);
	write_names(fixture, 7, "w", "1000 10 one\n");
	perf_maps_read(fixture->maps, 7, &fixture->identity, NS_PER_SECOND);
	trace_handler_handle(handler, &record.head, sizeof(record), NS_PER_SECOND);
	assert_string_equal(trace_frame(reporter.last, 0).function, "one");
	hash = reporter.last->hash;
	/* The memory is used again; the raw stack is the same. */
	write_names(fixture, 7, "a", "1004 10 other\n");
	perf_maps_read(fixture->maps, 7, &fixture->identity, 2 * NS_PER_SECOND);
	trace_handler_handle(handler, &record.head, sizeof(record), 2 * NS_PER_SECOND);
	assert_string_equal(trace_frame(reporter.last, 0).function, "other");
	assert_memory_not_equal(&reporter.last->hash, &hash, sizeof(hash));
	trace_handler_destroy(handler);
	executable_cache_destroy(config.executables);
	fake_reporter_deinit(&reporter);
	process_table_deinit(&table);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_are_read_as_the_file_grows),
		TEST(a_file_that_does_not_change_is_looked_at_ever_more_rarely),
		TEST(a_file_that_is_another_or_was_cut_is_read_anew),
		TEST(a_file_that_is_rewritten_is_read_anew),
		TEST(another_program_in_the_pid_has_none_of_its_names),
		TEST(names_that_nobody_asks_for_are_forgotten),
		TEST(a_long_file_is_read_bit_by_bit),
		TEST(over_the_limit_of_all_the_names_asked_for_longest_ago_go),
		TEST(a_process_with_too_many_names_keeps_what_there_is_room_for),
		TEST(copied_names_stay_what_they_are),
		TEST(only_frames_in_anonymous_code_get_names),
		TEST(the_names_of_one_stack_are_bounded),
		TEST(a_jitdump_file_goes_before_a_perf_map_and_is_read_on),
		TEST(the_jitdump_file_of_another_process_is_none),
		TEST(a_broken_jitdump_file_has_no_names),
		TEST(code_that_is_longer_than_a_read_is_skipped),
		TEST(frames_have_the_name_that_their_memory_has_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
