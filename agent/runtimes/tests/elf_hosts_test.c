/* SPDX-License-Identifier: Apache-2.0 */
/* The host is this program, started again (runtime_hosts_test.c). Its answers about a file are compared with direct reads. */
#include "agent/runtimes/elf_hosts.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/runtimes/elf_protocol.h"
#include "agent/runtimes/tests/live_hosts.h"
#include "interpreters/registry.h"
#include "lib/base/clock.h"
#include "lib/base/message_socket.h"
#include "symbols/build/make_symbol_cache.h"

enum {
	CODE_OFFSET = 0x1000,
	CODE_ADDRESS = 0x10000,
	CODE_BYTES = 1 << 20,
	NOTE_OFFSET = 0x200,
};

struct fixture {
	struct elf_hosts *hosts;
	struct elf_home *home;
	int fd;
	/* The last key of find_stored(), and the number of its calls. */
	struct hash128 key;
	uint32_t key_count;
	const struct stack_deltas *stored;
};

static int set_up(void **state)
{
	const struct elf_hosts_options options = { 0 };
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_int_equal(elf_hosts_create(&options, &fixture->hosts), 0);
	fixture->home = elf_hosts_home(fixture->hosts);
	fixture->fd = open("/bin/ls", O_RDONLY | O_CLOEXEC);
	assert_true(fixture->fd >= 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	elf_hosts_destroy(fixture->hosts);
	assert_int_equal(find_host(-1), -1);
	close(fixture->fd);
	free(fixture);
	return 0;
}

static int identify(const struct fixture *fixture, int fd)
{
	struct program_facts facts;
	struct elf_image segments;
	struct binary binary;
	int err = fixture->home->ops->identify(fixture->home, fd, &binary, &facts, &segments);

	if (!err)
		elf_image_deinit(&segments);
	return err;
}

/* A function at the start of a page in a file of @size bytes. */
static int make_code(const void *code, size_t code_bytes, uint64_t size)
{
	int fd = memfd_create("code", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(pwrite(fd, code, code_bytes, 4096), code_bytes);
	return fd;
}

static void assert_same_deltas(const struct stack_deltas *one, const struct stack_deltas *other)
{
	assert_int_equal(one->text_start, other->text_start);
	assert_int_equal(one->page_count, other->page_count);
	assert_int_equal(one->row_count, other->row_count);
	assert_int_equal(one->rule_count, other->rule_count);
	assert_memory_equal(one->rows, other->rows, stack_deltas_row_bytes(one->row_count));
	assert_memory_equal(one->page_index, other->page_index,
			    (one->page_count + 1) * sizeof(*one->page_index));
	assert_memory_equal(one->checks, other->checks, one->page_count * sizeof(*one->checks));
}

static void a_copy_of_code_is_analysed_as_here(void **state)
{
	const struct fixture *fixture = *state;
	struct stack_deltas deltas, own;
	int fd;

	/* Small results are one packet, large ones are not. */
	for (uint64_t size = 8192; size <= 256 << 10; size *= 32) {
		/* sub $40,%rsp; call *%rdi; add $40,%rsp; ret */
		fd = make_code("\x48\x83\xec\x28\xff\xd7\x48\x83\xc4\x28\xc3", 11, size);
		assert_int_equal(executable_file_analyse_copy(fd, 0x7f0000, size, &own), 0);
		assert_int_equal(fixture->home->ops->analyse_copy(fixture->home, fd, 1000, 0x7f0000,
								  size, &deltas),
				 0);
		assert_same_deltas(&deltas, &own);
		stack_deltas_deinit(&deltas);
		stack_deltas_deinit(&own);
		close(fd);
	}
}

static void a_copy_has_a_sound_range(void **state)
{
	const struct fixture *fixture = *state;
	struct elf_home *home = fixture->home;
	struct stack_deltas deltas;
	int fd = make_code("\xc3", 1, 8192);

	assert_int_equal(home->ops->analyse_copy(home, fd, 1000, 0x7f0001, 8192, &deltas), -EINVAL);
	assert_int_equal(home->ops->analyse_copy(home, fd, 1000, 0x7f0000, 8191, &deltas), -EINVAL);
	assert_int_equal(home->ops->analyse_copy(home, fd, 1000, 0x7f0000, 0, &deltas), -EINVAL);
	/* The file is shorter than the range. */
	assert_int_equal(home->ops->analyse_copy(home, fd, 1000, 0x7f0000, 16384, &deltas),
			 -EBADMSG);
	close(fd);
}

static void a_file_is_identified_as_here(void **state)
{
	const struct fixture *fixture = *state;
	struct program_facts facts, own_facts;
	struct elf_image segments, own_segments;
	struct binary binary, own;

	assert_int_equal(executable_file_identify(fixture->fd, &own, &own_facts, &own_segments), 0);
	assert_int_equal(fixture->home->ops->identify(fixture->home, fixture->fd, &binary, &facts,
						      &segments),
			 0);
	assert_memory_equal(&binary.file_id, &own.file_id, sizeof(own.file_id));
	assert_int_equal(binary.build_id_bytes, own.build_id_bytes);
	assert_memory_equal(binary.build_id, own.build_id, own.build_id_bytes);
	assert_int_equal(binary.memory_start, own.memory_start);
	assert_int_equal(binary.memory_limit, own.memory_limit);
	assert_int_equal(binary.file_offset, own.file_offset);
	assert_null(binary.facts);
	assert_int_equal(segments.machine, own_segments.machine);
	assert_int_equal(segments.size, own_segments.size);
	assert_true(own_segments.segment_count);
	assert_int_equal(segments.segment_count, own_segments.segment_count);
	assert_memory_equal(segments.segments, own_segments.segments,
			    own_segments.segment_count * sizeof(*own_segments.segments));
	elf_image_deinit(&segments);
	elf_image_deinit(&own_segments);
}

/* A program of Go, if Go is there. */
static int open_go_program(void)
{
	return open("/usr/local/go/bin/gofmt", O_RDONLY | O_CLOEXEC);
}

static void a_program_states_facts_and_its_runtime_is_found(void **state)
{
	const struct fixture *fixture = *state;
	struct program_facts facts, own_facts;
	struct elf_image segments, own_segments;
	struct runtime_file *file;
	struct binary binary, own;
	int fd = open_go_program();
	bool copies_stacks = true;

	if (fd < 0)
		skip();
	assert_int_equal(executable_file_identify(fd, &own, &own_facts, &own_segments), 0);
	assert_int_equal(
		fixture->home->ops->identify(fixture->home, fd, &binary, &facts, &segments), 0);
	assert_non_null(binary.facts);
	assert_true(facts.count > 1);
	assert_int_equal(facts.count, own_facts.count);
	assert_int_equal(facts.languages, own_facts.languages);
	for (uint32_t i = 0; i < facts.count; i++) {
		assert_string_equal(facts.items[i].key, own_facts.items[i].key);
		assert_string_equal(facts.items[i].text, own_facts.items[i].text);
		assert_int_equal(facts.items[i].is_of_binary, own_facts.items[i].is_of_binary);
	}
	assert_int_equal(fixture->home->ops->probe(fixture->home, fd, "gofmt", LANGUAGES_ALL, &file,
						   &copies_stacks),
			 0);
	assert_false(copies_stacks);
	assert_true(file->is_copy);
	assert_string_equal(file->language->id->name, "go");
	assert_memory_equal(file->version, "Go 1.", 5);
	assert_int_equal(!file->attaches_at_once, !file->data_bytes);
	free(file);
	elf_image_deinit(&segments);
	elf_image_deinit(&own_segments);
	close(fd);
}

static int find_stored(void *context, struct hash128 key, struct stack_deltas *deltas)
{
	struct fixture *fixture = context;

	fixture->key = key;
	fixture->key_count++;
	if (!fixture->stored)
		return -ENOENT;
	*deltas = *fixture->stored;
	deltas->page_index = calloc(2, sizeof(*deltas->page_index));
	deltas->rows = calloc(1, stack_deltas_row_bytes(1));
	deltas->rules = calloc(1, sizeof(*deltas->rules));
	return 0;
}

static const struct load_limits no_limits = { UINT64_MAX, UINT64_MAX };

static void check_rows(struct fixture *fixture, int fd)
{
	const struct load_helper helper = { .load_cached = find_stored, .context = fixture };
	struct load_result result, own;
	struct hash128 key;

	assert_int_equal(executable_file_load(fd, &helper, &no_limits, &own), 0);
	key = fixture->key;
	assert_int_equal(fixture->home->ops->load(fixture->home, fd, &helper, &no_limits, &result),
			 0);
	/* The process has this one's seed. */
	assert_true(hash128_equal(fixture->key, key));
	assert_true(result.is_new);
	assert_true(hash128_equal(result.key, key));
	assert_int_equal(result.deltas.text_start, own.deltas.text_start);
	assert_int_equal(result.deltas.page_count, own.deltas.page_count);
	assert_int_equal(result.deltas.row_count, own.deltas.row_count);
	assert_int_equal(result.deltas.rule_count, own.deltas.rule_count);
	assert_memory_equal(result.deltas.page_index, own.deltas.page_index,
			    (own.deltas.page_count + 1) * sizeof(*own.deltas.page_index));
	assert_memory_equal(result.deltas.rows, own.deltas.rows,
			    stack_deltas_row_bytes(own.deltas.row_count));
	assert_memory_equal(result.deltas.rules, own.deltas.rules,
			    own.deltas.rule_count * sizeof(*own.deltas.rules));
	stack_deltas_deinit(&result.deltas);
	stack_deltas_deinit(&own.deltas);
}

/* The rows of the second file do not fit into the answer's packet. */
static void rows_are_those_that_are_made_here(void **state)
{
	struct fixture *fixture = *state;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct load_result own;

	assert_true(fd >= 0);
	check_rows(fixture, fixture->fd);
	assert_int_equal(fixture->key_count, 2);
	check_rows(fixture, fd);
	assert_int_equal(executable_file_load(fd, NULL, &no_limits, &own), 0);
	assert_true(stack_deltas_row_bytes(own.deltas.row_count) > MESSAGE_MAX_BYTES);
	stack_deltas_deinit(&own.deltas);
	close(fd);
}

static void rows_that_are_stored_are_not_made(void **state)
{
	static const struct stack_deltas stored = { .page_count = 1,
						    .row_count = 1,
						    .rule_count = 1 };
	struct fixture *fixture = *state;
	const struct load_helper helper = { .load_cached = find_stored, .context = fixture };
	struct load_result result;

	fixture->stored = &stored;
	assert_int_equal(fixture->home->ops->load(fixture->home, fixture->fd, &helper, &no_limits,
						  &result),
			 0);
	assert_int_equal(fixture->key_count, 1);
	assert_false(result.is_new);
	assert_int_equal(result.deltas.row_count, 1);
	stack_deltas_deinit(&result.deltas);
}

static void work_is_limited_and_damage_told(void **state)
{
	const struct load_limits little = { 1, UINT64_MAX };
	struct fixture *fixture = *state;
	struct runtime_file *file;
	struct load_result result;
	bool copies_stacks;
	int fd = memfd_create("elf_hosts_test", 0);

	assert_int_equal(fixture->home->ops->load(fixture->home, fixture->fd, NULL, &little,
						  &result),
			 -EAGAIN);
	assert_int_equal(fixture->home->ops->probe(fixture->home, fixture->fd, "ls", LANGUAGES_ALL,
						   &file, &copies_stacks),
			 -ENOENT);
	assert_int_equal(write(fd, "no ELF file at all", 18), 18);
	assert_int_equal(identify(fixture, fd), -EOPNOTSUPP);
	assert_int_equal(pwrite(fd, "\177ELF\2\1\1", 7, 0), 7);
	assert_int_equal(identify(fixture, fd), -EBADMSG);
	close(fd);
}

/* --- debug files --- */

/* An ELF file with much code and no tables, and the build id @id. */
static int write_bare_file(int fd, uint8_t id)
{
	const struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[2];
	} file = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = CODE_OFFSET,
			  .p_vaddr = CODE_ADDRESS, .p_filesz = CODE_BYTES, .p_memsz = CODE_BYTES },
			{ .p_type = PT_NOTE, .p_flags = PF_R, .p_offset = NOTE_OFFSET,
			  .p_filesz = 20, .p_memsz = 20, .p_align = 4 },
		},
	};
	const uint8_t note[20] = { 4,	0,   0,	  0, 4,	 0,  0,	 0, NT_GNU_BUILD_ID, 0, 0, 0,
				   'G', 'N', 'U', 0, id, id, id, id };
	uint8_t *code = malloc(CODE_BYTES);
	bool is_written;

	memset(code, 0x90, CODE_BYTES);
	is_written = pwrite(fd, &file, sizeof(file), 0) == sizeof(file) &&
		     pwrite(fd, note, sizeof(note), NOTE_OFFSET) == sizeof(note) &&
		     pwrite(fd, code, CODE_BYTES, CODE_OFFSET) == CODE_BYTES;
	free(code);
	return is_written ? 0 : -1;
}

static bool may_read(void *context, pid_t pid, uint32_t major, uint32_t minor)
{
	(void)pid;
	(void)major;
	(void)minor;
	++*(uint32_t *)context;
	return true;
}

/* The debug file is opened here, below the root of the search, and only if it is an ELF file. */
static void debug_files_are_opened_here(void **state)
{
	struct fixture *fixture = *state;
	char folder[] = "/tmp/elf_hosts_test.XXXXXX", command[256], path[128];
	uint32_t judged = 0;
	struct debug_file_search search = { .path = "/bin/bare",
					    .judge = { .may_read = may_read, .context = &judged } };
	const struct load_helper helper = { .search = &search };
	struct load_result result;
	int fd = memfd_create("elf_hosts_test", 0), debug;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/1/root/usr/lib/debug/.build-id/ab", folder);
	snprintf(command, sizeof(command), "mkdir -p %s", path);
	assert_int_equal(system(command), 0);
	search.proc_root = folder;
	strcat(path, "/ababab.debug");
	debug = open(path, O_RDWR | O_CREAT, 0600);
	assert_int_equal(write_bare_file(fd, 0xab), 0);
	assert_int_equal(write_bare_file(debug, 0xab), 0);
	assert_int_equal(fixture->home->ops->load(fixture->home, fd, &helper, &no_limits, &result),
			 0);
	assert_true(judged);
	stack_deltas_deinit(&result.deltas);
	close(debug);
	close(fd);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* --- the process --- */

static void it_has_no_capabilities_and_no_descriptors_but_its_own(void **state)
{
	const struct fixture *fixture = *state;
	uint64_t permitted, effective;
	char path[64], link[330];
	struct dirent *entry;
	uint32_t sockets = 0;
	DIR *folder;
	pid_t pid;

	assert_int_equal(identify(fixture, fixture->fd), 0);
	pid = find_host(-1);
	read_confinement(pid, &permitted, &effective);
	assert_int_equal(permitted, 0);
	assert_int_equal(effective, 0);
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		char target[128] = "";

		snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
		if (entry->d_name[0] == '.' || readlink(link, target, sizeof(target) - 1) < 0)
			continue;
		if (strncmp(target, "socket:", 7) == 0)
			sockets++;
		else
			assert_string_equal(target, "/dev/null");
	}
	closedir(folder);
	/* One for each channel. */
	assert_int_equal(sockets, ELF_CHANNEL_COUNT);
}

static void a_process_that_has_ended_is_replaced(void **state)
{
	const struct fixture *fixture = *state;
	struct load_result result;
	pid_t first;

	assert_int_equal(identify(fixture, fixture->fd), 0);
	first = find_host(-1);
	signal_host(first, SIGKILL);
	assert_int_equal(
		fixture->home->ops->load(fixture->home, fixture->fd, NULL, &no_limits, &result), 0);
	stack_deltas_deinit(&result.deltas);
	assert_int_not_equal(find_host(-1), first);
}

/* Ends each process as soon as it is there. */
static void *kill_all(void *context)
{
	const bool *is_done = context;

	while (!__atomic_load_n(is_done, __ATOMIC_ACQUIRE)) {
		pid_t pid = find_host(-1);

		if (pid > 0)
			kill(pid, SIGKILL);
		usleep(1000);
	}
	return NULL;
}

static void a_file_that_ends_every_process_counts_as_damaged(void **state)
{
	const struct fixture *fixture = *state;
	bool is_done = false;
	pthread_t thread;
	int err;

	assert_int_equal(pthread_create(&thread, NULL, kill_all, &is_done), 0);
	err = identify(fixture, fixture->fd);
	__atomic_store_n(&is_done, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	/* Or else no process could be started. */
	assert_true(err == -EBADMSG || err == -EAGAIN);
}

static void a_process_that_hangs_is_abandoned(void **state)
{
	const struct fixture *fixture = *state;

	assert_int_equal(identify(fixture, fixture->fd), 0);
	stop_host(find_host(-1));
	assert_int_equal(identify(fixture, fixture->fd), 0);
}

static int make_symbols(const struct fixture *fixture, int elf, int debug, int output)
{
	const struct symbol_cache_maker_files files = { .elf = elf,
							.debug = debug,
							.output = output };
	const struct hash128 key = { 1, 2 };
	uint64_t cpu_ns = 0;
	int err = fixture->home->ops->make_symbols(fixture->home, &files, key, &cpu_ns);

	assert_true(cpu_ns > 0);
	return err;
}

static void assert_same(int one, int other)
{
	struct stat status, others;
	char *bytes, *other_bytes;

	assert_int_equal(fstat(one, &status), 0);
	assert_int_equal(fstat(other, &others), 0);
	assert_true(status.st_size > 4096);
	assert_int_equal(status.st_size, others.st_size);
	bytes = malloc((size_t)status.st_size);
	other_bytes = malloc((size_t)status.st_size);
	assert_int_equal(pread(one, bytes, (size_t)status.st_size, 0), status.st_size);
	assert_int_equal(pread(other, other_bytes, (size_t)status.st_size, 0), status.st_size);
	assert_memory_equal(bytes, other_bytes, (size_t)status.st_size);
	free(bytes);
	free(other_bytes);
}

/* Compares the symbols of @elf, with those of @debug unless that is -1. */
static void compare_symbols(const struct fixture *fixture, int elf, int debug)
{
	const struct hash128 key = { 1, 2 };
	int made = memfd_create("made", 0), own = memfd_create("own", 0);
	struct elf_image image, debug_image;

	assert_int_equal(elf_image_init_fd(&image, elf), 0);
	if (debug >= 0)
		assert_int_equal(elf_image_init_fd(&debug_image, debug), 0);
	assert_int_equal(
		make_small_symbol_cache(&image, debug >= 0 ? &debug_image : NULL, key, own), 0);
	/* It is written at the start, wherever somebody was before. */
	lseek(made, 100, SEEK_SET);
	assert_int_equal(make_symbols(fixture, elf, debug, made), 0);
	assert_same(made, own);
	elf_image_deinit(&image);
	if (debug >= 0)
		elf_image_deinit(&debug_image);
	close(made);
	close(own);
}

static void symbols_are_those_that_are_made_here(void **state)
{
	const struct fixture *fixture = *state;
	/* This program has a symbol table. */
	int elf = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	compare_symbols(fixture, elf, -1);
	compare_symbols(fixture, fixture->fd, elf);
	close(elf);
}

/* Symbols whose names are longer than what may be written for one file. */
static int open_many_names(void)
{
	static const char command[] =
		"awk 'BEGIN { for (i = 0; i < 12000; i++) { n = sprintf(\"s%0900d\", i); "
		"printf \".globl %s\\n.type %s,@function\\n.size %s,1\\n%s: nop\\n\", n, n, n, n } }' | "
		"cc -nostdlib -shared -x assembler - -o ";
	char path[] = "/tmp/elf_hosts_test.XXXXXX", with_path[512];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	snprintf(with_path, sizeof(with_path), "%s%s", command, path);
	if (system(with_path))
		skip();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	return fd;
}

static void symbols_are_limited_and_damage_told(void **state)
{
	const struct fixture *fixture = *state;
	int output = memfd_create("output", 0), damaged = memfd_create("damaged", 0),
	    large = open_many_names();
	struct stat status;

	assert_int_equal(make_symbols(fixture, large, -1, output), -E2BIG);
	assert_int_equal(pwrite(damaged, "not an ELF file", 15, 0), 15);
	assert_true(make_symbols(fixture, damaged, -1, output) < 0);
	assert_int_equal(fstat(output, &status), 0);
	assert_int_equal(status.st_size, 0);
	/* Neither has ended the process, and a damaged debug file is no hindrance. */
	assert_int_equal(make_symbols(fixture, fixture->fd, damaged, output), 0);
	close(large);
	close(damaged);
	close(output);
}

static void symbols_are_made_until_their_own_stop(void **state)
{
	const struct fixture *fixture = *state;
	int output = memfd_create("output", 0);

	fixture->home->ops->stop(fixture->home);
	assert_int_equal(make_symbols(fixture, fixture->fd, -1, output), 0);
	fixture->home->ops->stop_symbols(fixture->home);
	assert_int_equal(make_symbols(fixture, fixture->fd, -1, output), -ECANCELED);
	close(output);
}

static void nothing_is_parsed_after_the_stop(void **state)
{
	const struct fixture *fixture = *state;
	uint64_t start_ns = clock_monotonic_ns();

	fixture->home->ops->stop(fixture->home);
	assert_int_equal(identify(fixture, fixture->fd), -ECANCELED);
	assert_true(clock_monotonic_ns() < start_ns + 5 * NS_PER_SECOND);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_identified_as_here),
		TEST(a_copy_of_code_is_analysed_as_here),
		TEST(a_copy_has_a_sound_range),
		TEST(a_program_states_facts_and_its_runtime_is_found),
		TEST(rows_are_those_that_are_made_here),
		TEST(rows_that_are_stored_are_not_made),
		TEST(work_is_limited_and_damage_told),
		TEST(debug_files_are_opened_here),
		TEST(it_has_no_capabilities_and_no_descriptors_but_its_own),
		TEST(a_process_that_has_ended_is_replaced),
		TEST(a_file_that_ends_every_process_counts_as_damaged),
		TEST(a_process_that_hangs_is_abandoned),
		TEST(symbols_are_those_that_are_made_here),
		TEST(symbols_are_limited_and_damage_told),
		TEST(symbols_are_made_until_their_own_stop),
		TEST(nothing_is_parsed_after_the_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
