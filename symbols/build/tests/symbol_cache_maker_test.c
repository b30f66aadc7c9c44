/* SPDX-License-Identifier: Apache-2.0 */
/* The started processes are this program itself, under the same sanitizers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* cmocka has a macro `fail`, which is also a function in lib/base/error.h. */
#undef fail
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/elf/tests/elf_builder.h"
#include "symbols/build/tests/symbol_cache_maker_fixture.h"

enum {
	UNIT_BYTES = 12,
	/* So many units keep a reader busy for minutes; it restarts libdw after every thousand. */
	SLOW_UNITS = 1000000,
};

static void a_process_makes_what_this_one_would(void **state)
{
	struct symbol_cache file;

	(void)state;
	assert_int_equal(make(open_self(), SYMBOL_DEPTH_FULL, &wide, &file), 0);
	expect_known_function(&file, true);
	assert_int_equal(make(open_self(), SYMBOL_DEPTH_SYMBOLS, &wide, &file), 0);
	expect_known_function(&file, false);
}

static void limits_end_it(void **state)
{
	struct symbol_cache_maker_limits small_memory = wide, small_output = wide;
	struct symbol_cache file;

	(void)state;
	small_memory.memory_bytes = 64 << 10;
	assert_int_equal(make(open_self(), SYMBOL_DEPTH_FULL, &small_memory, &file), -E2BIG);
	small_output.output_bytes = 1 << 10;
	assert_int_equal(make(open_self(), SYMBOL_DEPTH_FULL, &small_output, &file), -E2BIG);
}

static void other_files_are_refused(void **state)
{
	int fd = memfd_create("text", MFD_CLOEXEC);
	struct symbol_cache file;

	(void)state;
	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	assert_int_equal(make(fd, SYMBOL_DEPTH_FULL, &wide, &file), -EOPNOTSUPP);
}

static void write_at(int fd, const void *bytes, size_t size, off_t offset)
{
	assert_int_equal(pwrite(fd, bytes, size, offset), size);
}

static void libelf_takes(struct elf_builder *builder)
{
	built_header(builder)->e_ident[EI_VERSION] = EV_CURRENT;
	built_header(builder)->e_version = EV_CURRENT;
	built_header(builder)->e_ehsize = sizeof(Elf64_Ehdr);
}

/* A file with a million empty units. */
static int open_slow_file(void)
{
	static const uint8_t abbreviations[] = { 1, 0x11, 0, 0, 0, 0 };
	static const uint8_t unit[UNIT_BYTES] = { UNIT_BYTES - 4, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1 };
	static struct elf_builder builder;
	uint8_t *units = malloc(SLOW_UNITS * UNIT_BYTES);
	char path[] = "/tmp/symbol_cache_maker_XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	uint32_t section;

	assert_true(fd >= 0 && units);
	unlink(path);
	elf_builder_init(&builder, 1);
	elf_builder_add(&builder, ".debug_abbrev", SHT_PROGBITS, 0, abbreviations,
			sizeof(abbreviations));
	section = elf_builder_add(&builder, ".debug_info", SHT_PROGBITS, 0, "", 0);
	elf_builder_finish(&builder);
	libelf_takes(&builder);
	built_section(&builder, section)->sh_offset = BUILT_BYTES;
	built_section(&builder, section)->sh_size = SLOW_UNITS * UNIT_BYTES;
	for (size_t i = 0; i < SLOW_UNITS; i++)
		memcpy(units + i * UNIT_BYTES, unit, UNIT_BYTES);
	write_at(fd, builder.bytes, BUILT_BYTES, 0);
	write_at(fd, units, SLOW_UNITS * UNIT_BYTES, BUILT_BYTES);
	free(units);
	return fd;
}

static void time_ends_it(void **state)
{
	struct symbol_cache_maker_limits short_time = wide;
	struct symbol_cache file;

	(void)state;
	short_time.cpu_ns = 1;
	assert_int_equal(make(open_slow_file(), SYMBOL_DEPTH_FULL, &short_time, &file), -ETIME);
}

/* An attack on the process, or on its file, as soon as the process has mapped the file. */
struct attack {
	int fd;
	/* 0: the file is truncated instead. */
	int signal;
	pthread_t thread;
};

static bool is_child(const char *name)
{
	char path[300], line[128];
	bool found = false;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%s/status", name);
	status = fopen(path, "re");
	while (status && !found && fgets(line, sizeof(line), status))
		found = !strncmp(line, "PPid:", 5) && atoi(line + 5) == getpid();
	if (status)
		fclose(status);
	return found;
}

static bool has_mapped(const char *name, int fd)
{
	char path[300], line[1024];
	bool found = false;
	struct stat wanted;
	FILE *maps;

	fstat(fd, &wanted);
	snprintf(path, sizeof(path), "/proc/%s/maps", name);
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		unsigned long inode;

		found = sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1 && inode == wanted.st_ino;
	}
	if (maps)
		fclose(maps);
	return found;
}

/* The process that has mapped the file; 0 if there is none yet. */
static pid_t find_reader(int fd)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	pid_t pid = 0;

	while (!pid && (entry = readdir(folder)))
		if (atoi(entry->d_name) && is_child(entry->d_name) && has_mapped(entry->d_name, fd))
			pid = atoi(entry->d_name);
	closedir(folder);
	return pid;
}

static void *run_attack(void *context)
{
	const struct attack *attack = context;
	pid_t pid;

	while (!(pid = find_reader(attack->fd)))
		usleep(1000);
	if (attack->signal)
		kill(pid, attack->signal);
	else
		(void)!ftruncate(attack->fd, 0);
	return NULL;
}

static void end_by_attack(int signal, const char *text)
{
	struct attack attack = { .fd = open_slow_file(), .signal = signal };
	struct symbol_cache file;

	/* Only root may look into the process: not other users, and not its own user. */
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	assert_int_equal(pthread_create(&attack.thread, NULL, run_attack, &attack), 0);
	assert_int_equal(make(dup(attack.fd), SYMBOL_DEPTH_FULL, &wide, &file), -EBADMSG);
	assert_non_null(strstr(error_text(), text));
	pthread_join(attack.thread, NULL);
	close(attack.fd);
}

static void a_process_that_is_killed_costs_its_file(void **state)
{
	(void)state;
	end_by_attack(SIGKILL, "signal 9 (KILL)");
}

static void a_file_that_is_truncated_meanwhile_costs_itself(void **state)
{
	(void)state;
	/* Sanitizers would handle the signal and exit with their own status. */
	setenv("ASAN_OPTIONS", "handle_sigbus=0", 1);
	end_by_attack(0, "signal 7 (BUS)");
}

static void sections_that_claim_to_be_huge_are_refused(void **state)
{
	static const struct {
		uint64_t claimed;
		int error;
	} cases[] = {
		{ 3ULL << 30, -E2BIG },
		{ 17 << 20, -E2BIG },
		/* Only the contents are invalid. */
		{ 1 << 10, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct elf_builder builder;
		uint8_t bytes[128] = { 0 };
		Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB,
				      .ch_size = cases[i].claimed,
				      .ch_addralign = 1 };
		int fd = memfd_create("bomb", MFD_CLOEXEC);
		struct symbol_cache file;

		memcpy(bytes, &header, sizeof(header));
		elf_builder_init(&builder, 1);
		elf_builder_add(&builder, ".debug_info", SHT_PROGBITS, SHF_COMPRESSED, bytes,
				sizeof(bytes));
		elf_builder_finish(&builder);
		libelf_takes(&builder);
		write_at(fd, builder.bytes, BUILT_BYTES, 0);
		assert_int_equal(make(fd, SYMBOL_DEPTH_FULL, &wide, &file), cases[i].error);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_makes_what_this_one_would),
		cmocka_unit_test(limits_end_it),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(time_ends_it),
		cmocka_unit_test(a_process_that_is_killed_costs_its_file),
		cmocka_unit_test(a_file_that_is_truncated_meanwhile_costs_itself),
		cmocka_unit_test(sections_that_claim_to_be_huge_are_refused),
	};

	symbol_cache_maker_enter(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
