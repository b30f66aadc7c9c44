/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>

#include "agent/processes/kernel_symbols.h"
#include "lib/base/clock.h"
#include "lib/host/file_id.h"
#include "lib/host/tests/proc_fixture.h"

#define KERNEL_LINES                                                                               \
	"ffffffff81000000 T _stext\n"                                                              \
	"ffffffff81001000 T do_work\n"                                                             \
	"ffffffff81002000 t helper\n"                                                              \
	"ffffffff81800000 T _etext\n"                                                              \
	"ffffffff82000000 T in_init_text\n"
#define EXT4_LINES                                                                                 \
	"ffffffffc0a00100 t ext4_read\t[ext4]\n"                                                   \
	"ffffffffc0a00200 t ext4_write\t[ext4]\n"
#define EXT4_MODULE "ext4 65536 1 - Live 0xffffffffc0a00000\n"
#define SECONDS(n) (1000 * NS_PER_SECOND + (n)*NS_PER_SECOND)

static char folder[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/kernel_symbols_test_XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	remove_folder(folder);
	return 0;
}

static struct kernel_symbols *create(const char *kallsyms, const char *modules)
{
	struct kernel_symbols *symbols = NULL;

	write_fake_file(folder, "kallsyms", kallsyms);
	if (modules)
		write_fake_file(folder, "modules", modules);
	assert_int_equal(kernel_symbols_create(&symbols, folder, folder), 0);
	return symbols;
}

/* "name module offset", or "-". */
static const char *lookup(struct kernel_symbols *symbols, uint64_t address)
{
	static char text[256];
	struct kernel_symbol symbol;
	int err = kernel_symbols_lookup(symbols, address, &symbol);

	if (err) {
		assert_int_equal(err, -ENOENT);
		return "-";
	}
	snprintf(text, sizeof(text), "%s %s %#lx", symbol.name ? symbol.name : "?",
		 symbol.module->name, (unsigned long)symbol.offset);
	return text;
}

static void addresses_have_name_module_and_offset(void **state)
{
	struct kernel_symbols *symbols = create(KERNEL_LINES EXT4_LINES, EXT4_MODULE);

	(void)state;
	assert_string_equal(lookup(symbols, 0xffffffff81001010), "do_work vmlinux 0x10");
	assert_string_equal(lookup(symbols, 0xffffffff817fffff), "helper vmlinux 0x7fdfff");
	assert_string_equal(lookup(symbols, 0xffffffffc0a00204), "ext4_write ext4 0x4");
	kernel_symbols_destroy(symbols);
}

static void addresses_outside_of_all_code_have_no_name(void **state)
{
	struct kernel_symbols *symbols = create(KERNEL_LINES EXT4_LINES, EXT4_MODULE
						"quiet 4096 0 - Live 0xffffffffc0b00000\n");

	(void)state;
	assert_string_equal(lookup(symbols, 0), "-");
	assert_string_equal(lookup(symbols, 0xffffffff80ffffff), "-");
	assert_string_equal(lookup(symbols, 0xffffffff90000000), "-");
	/* Not far behind a function that is out of the text proper. */
	assert_string_equal(lookup(symbols, 0xffffffff82000040), "in_init_text vmlinux 0x40");
	/* Behind the end of ext4, and before its first function. */
	assert_string_equal(lookup(symbols, 0xffffffffc0a10000), "-");
	assert_string_equal(lookup(symbols, 0xffffffffc0a00000), "? ext4 0");
	assert_string_equal(lookup(symbols, 0xffffffffc0b00010), "? quiet 0x10");
	assert_string_equal(lookup(symbols, UINT64_MAX), "-");
	kernel_symbols_destroy(symbols);
}

static void a_module_may_have_many_users(void **state)
{
	char modules[4096] = "ext4 65536 300 ";
	struct kernel_symbols *symbols;

	(void)state;
	for (int i = 0; i < 300; i++)
		strcat(modules, "snd_user,");
	strcat(modules, " Live 0xffffffffc0a00000 (OE)\n");
	symbols = create(KERNEL_LINES EXT4_LINES, modules);
	assert_string_equal(lookup(symbols, 0xffffffffc0a00204), "ext4_write ext4 0x4");
	assert_string_equal(lookup(symbols, 0xffffffffc0a10000), "-");
	kernel_symbols_destroy(symbols);
}

static void build_ids_come_from_the_notes(void **state)
{
	const struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[4];
	} note = { { 4, 4, NT_GNU_BUILD_ID }, "GNU", { 0xde, 0xad, 0xbe, 0xef } };
	struct kernel_symbols *symbols;
	struct kernel_symbol symbol;
	struct file_id expected;

	(void)state;
	write_fake_bytes(folder, "kernel/notes", &note, sizeof(note));
	write_fake_bytes(folder, "module/ext4/notes/.note.gnu.build-id", &note, sizeof(note));
	symbols = create(KERNEL_LINES EXT4_LINES "ffffffffc0c00000 t bpf_prog_1_x\t[bpf]\n",
			 EXT4_MODULE);
	assert_int_equal(kernel_symbols_lookup(symbols, 0xffffffff81001010, &symbol), 0);
	assert_int_equal(symbol.module->build_id_bytes, 4);
	assert_memory_equal(symbol.module->build_id, note.id, 4);
	file_id_of_build_id(note.id, 4, &expected);
	assert_memory_equal(&symbol.module->file_id, &expected, sizeof(expected));
	assert_int_equal(symbol.module->start, 0xffffffff81000000);
	assert_int_equal(symbol.module->end, 0xffffffff81800000);
	assert_int_equal(kernel_symbols_lookup(symbols, 0xffffffffc0a00100, &symbol), 0);
	assert_int_equal(symbol.module->build_id_bytes, 4);
	assert_int_equal(symbol.module->end, 0xffffffffc0a10000);
	assert_int_equal(kernel_symbols_lookup(symbols, 0xffffffffc0c00004, &symbol), 0);
	assert_string_equal(symbol.module->name, "bpf");
	assert_int_equal(symbol.module->build_id_bytes, 0);
	assert_memory_not_equal(&symbol.module->file_id, &expected, sizeof(expected));
	kernel_symbols_destroy(symbols);
}

static void modules_are_followed(void **state)
{
	struct kernel_symbols *symbols = create(KERNEL_LINES EXT4_LINES, EXT4_MODULE);
	uint64_t first, generation;

	(void)state;
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(0), &first), 0);
	/* Another module is loaded at the same address. */
	write_fake_file(folder, "kallsyms", KERNEL_LINES "ffffffffc0a00100 t xfs_read\t[xfs]\n");
	write_fake_file(folder, "modules", "xfs 65536 1 - Live 0xffffffffc0a00000\n");
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(0) + 1000, &generation), 0);
	assert_int_equal(generation, first);
	assert_string_equal(lookup(symbols, 0xffffffffc0a00104), "ext4_read ext4 0x4");
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(1), &generation), 0);
	assert_int_not_equal(generation, first);
	assert_string_equal(lookup(symbols, 0xffffffffc0a00104), "xfs_read xfs 0x4");
	/* A reference count is no change. */
	first = generation;
	write_fake_file(folder, "kallsyms", KERNEL_LINES);
	write_fake_file(folder, "modules", "xfs 65536 2 ext4, Live 0xffffffffc0a00000\n");
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(2), &generation), 0);
	assert_int_equal(generation, first);
	kernel_symbols_destroy(symbols);
}

static void bpf_programs_are_followed_slowly_and_only_when_met(void **state)
{
	static const char before[] = KERNEL_LINES "ffffffffc0c00000 t bpf_prog_1_old\t[bpf]\n";
	static const char after[] = KERNEL_LINES "ffffffffc0c00000 t bpf_prog_2_new\t[bpf]\n";
	struct kernel_symbols *symbols = create(before, NULL);
	uint64_t first, generation;

	(void)state;
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(0), &first), 0);
	write_fake_file(folder, "kallsyms", after);
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(100), &generation), 0);
	assert_int_equal(generation, first);
	assert_string_equal(lookup(symbols, 0xffffffffc0c00010), "bpf_prog_1_old bpf 0x10");
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(102), &generation), 0);
	assert_int_not_equal(generation, first);
	assert_string_equal(lookup(symbols, 0xffffffffc0c00010), "bpf_prog_2_new bpf 0x10");
	/* That was now, so the next time is in half a minute; and then nothing has changed. */
	first = generation;
	write_fake_file(folder, "kallsyms", before);
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(131), &generation), 0);
	assert_int_equal(generation, first);
	write_fake_file(folder, "kallsyms", after);
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(133), &generation), 0);
	assert_int_equal(generation, first);
	kernel_symbols_destroy(symbols);
}

static void a_bpf_program_that_is_loaded_has_a_name_at_once(void **state)
{
	struct kernel_symbols *symbols =
		create(KERNEL_LINES "ffffffffc0c00000 t bpf_prog_1_old\t[bpf]\n", NULL);
	uint64_t first, generation;

	(void)state;
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(0), &first), 0);
	assert_string_equal(lookup(symbols, 0xffffffffc0c00110), "bpf_prog_1_old bpf 0x110");
	kernel_symbols_note_loaded(symbols, 0xffffffffc0c00100, 0x40, "bpf_prog_2_new");
	kernel_symbols_note_loaded(symbols, 0xffffffffc0c00080, 0x40, "bpf_prog_3_more");
	assert_string_equal(lookup(symbols, 0xffffffffc0c00110), "bpf_prog_2_new bpf 0x10");
	assert_string_equal(lookup(symbols, 0xffffffffc0c000bf), "bpf_prog_3_more bpf 0x3f");
	assert_string_equal(lookup(symbols, 0xffffffffc0c00010), "bpf_prog_1_old bpf 0x10");
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(0), &generation), 0);
	assert_int_not_equal(generation, first);
	/* Another one is loaded over the ends of both. */
	kernel_symbols_note_loaded(symbols, 0xffffffffc0c000a0, 0x80, "bpf_prog_4_over");
	assert_string_equal(lookup(symbols, 0xffffffffc0c000a0), "bpf_prog_4_over bpf 0");
	assert_string_equal(lookup(symbols, 0xffffffffc0c0011f), "bpf_prog_4_over bpf 0x7f");
	assert_string_equal(lookup(symbols, 0xffffffffc0c00130), "bpf_prog_1_old bpf 0x130");
	/* And then other code. */
	kernel_symbols_note_loaded(symbols, 0xffffffffc0c000a0, 0x80, "");
	assert_string_equal(lookup(symbols, 0xffffffffc0c000a0), "bpf_prog_1_old bpf 0xa0");
	kernel_symbols_note_loaded(symbols, UINT64_MAX - 1, 16, "bpf_prog_5_wrapped");
	kernel_symbols_note_loaded(symbols, 16, 0, "bpf_prog_6_empty");
	assert_string_equal(lookup(symbols, 16), "-");
	kernel_symbols_destroy(symbols);
}

static void too_many_loaded_programs_are_read_from_kallsyms(void **state)
{
	struct kernel_symbols *symbols = create(KERNEL_LINES, NULL);
	uint64_t first, generation;
	char name[32];

	(void)state;
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(0), &first), 0);
	for (uint32_t i = 0; i <= 1 << 12; i++) {
		snprintf(name, sizeof(name), "bpf_prog_%x", i);
		/* From high to low addresses. */
		kernel_symbols_note_loaded(symbols, 0xffffffffc0d00000 - 64ULL * i, 64, name);
		lookup(symbols, 0xffffffffc0d00000);
	}
	assert_string_equal(lookup(symbols, 0xffffffffc0d00000), "-");
	write_fake_file(folder, "kallsyms", KERNEL_LINES "ffffffffc0d00000 t bpf_prog_0\t[bpf]\n");
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(31), &generation), 0);
	assert_string_equal(lookup(symbols, 0xffffffffc0d00000), "bpf_prog_0 bpf 0");
	/* Reports that wait are bounded, too. */
	kernel_symbols_note_loaded(symbols, 0xffffffffc0d00000, 64, "bpf_prog_new");
	assert_string_equal(lookup(symbols, 0xffffffffc0d00000), "bpf_prog_new bpf 0");
	kernel_symbols_note_lost(symbols);
	assert_string_equal(lookup(symbols, 0xffffffffc0d00000), "bpf_prog_0 bpf 0");
	for (uint32_t i = 0; i <= 1 << 10; i++)
		kernel_symbols_note_loaded(symbols, 0xffffffffc0e00000 + 64ULL * i, 64,
					   "bpf_prog_x");
	assert_string_equal(lookup(symbols, 0xffffffffc0e00000), "bpf_prog_x bpf 0");
	assert_string_equal(lookup(symbols, 0xffffffffc0e00000 + (64ULL << 10)), "-");
	kernel_symbols_destroy(symbols);
}

static void what_was_read_stays_when_reading_fails(void **state)
{
	struct kernel_symbols *symbols = create(KERNEL_LINES EXT4_LINES, EXT4_MODULE);
	uint64_t first, generation = 0;

	(void)state;
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(0), &first), 0);
	write_fake_file(folder, "kallsyms", "rubbish");
	write_fake_file(folder, "modules", "");
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(1), &generation), -EBADMSG);
	assert_int_equal(generation, first);
	assert_string_equal(lookup(symbols, 0xffffffffc0a00104), "ext4_read ext4 0x4");
	/* It is tried again. */
	write_fake_file(folder, "kallsyms", KERNEL_LINES);
	assert_int_equal(kernel_symbols_refresh(symbols, SECONDS(2), &generation), 0);
	assert_int_not_equal(generation, first);
	assert_string_equal(lookup(symbols, 0xffffffffc0a00104), "-");
	kernel_symbols_destroy(symbols);
}

static void hidden_addresses_are_an_error(void **state)
{
	struct kernel_symbols *symbols = NULL;

	(void)state;
	write_fake_file(folder, "kallsyms", "0000000000000000 T _stext\n");
	assert_int_equal(kernel_symbols_create(&symbols, folder, folder), -EACCES);
	assert_null(symbols);
	assert_int_equal(kernel_symbols_create(&symbols, "/nowhere", folder), -ENOENT);
	write_fake_file(folder, "kallsyms", KERNEL_LINES);
	write_fake_file(folder, "modules", "rubbish\n");
	assert_int_equal(kernel_symbols_create(&symbols, folder, folder), -EBADMSG);
	kernel_symbols_destroy(NULL);
}

static void the_running_kernel_has_names_and_a_build_id(void **state)
{
	struct kernel_symbols *symbols;
	struct kernel_symbol symbol;
	uint64_t address = 0;
	char line[1024];
	FILE *file;
	int err;

	(void)state;
	err = kernel_symbols_create(&symbols, "/proc", "/sys");
	if (err == -EACCES)
		skip();
	assert_int_equal(err, 0);
	file = fopen("/proc/kallsyms", "r");
	while (fgets(line, sizeof(line), file))
		if (strstr(line, " T schedule\n"))
			address = strtoull(line, NULL, 16);
	fclose(file);
	assert_int_equal(kernel_symbols_lookup(symbols, address + 1, &symbol), 0);
	assert_string_equal(symbol.name, "schedule");
	assert_string_equal(symbol.module->name, "vmlinux");
	assert_int_equal(symbol.offset, 1);
	if (!access("/sys/kernel/notes", R_OK))
		assert_true(symbol.module->build_id_bytes >= 8);
	kernel_symbols_destroy(symbols);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(addresses_have_name_module_and_offset),
		TEST(addresses_outside_of_all_code_have_no_name),
		TEST(a_module_may_have_many_users),
		TEST(build_ids_come_from_the_notes),
		TEST(modules_are_followed),
		TEST(bpf_programs_are_followed_slowly_and_only_when_met),
		TEST(a_bpf_program_that_is_loaded_has_a_name_at_once),
		TEST(too_many_loaded_programs_are_read_from_kallsyms),
		TEST(what_was_read_stays_when_reading_fails),
		TEST(hidden_addresses_are_an_error),
		TEST(the_running_kernel_has_names_and_a_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
