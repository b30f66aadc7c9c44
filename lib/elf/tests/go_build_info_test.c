/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "lib/elf/go_build_info.h"
#include "lib/elf/tests/go_table_example.h"

static struct made_go go;
static struct go_build_info info;

static int read_made(void)
{
	struct elf_relocations relocations;
	struct elf_image image;
	struct elf_pages pages;
	int err;

	memset(&info, 0, sizeof(info));
	assert_int_equal(elf_image_init_memory(&image, go.bytes, sizeof(go.bytes)), 0);
	elf_pages_init(&pages, &image);
	elf_relocations_init(&relocations, &image);
	err = go_build_info_read(&info, &pages, &relocations);
	elf_pages_deinit(&pages);
	elf_image_deinit(&image);
	return err;
}

static void make(uint32_t minor, bool is_relocated)
{
	made_go_example(&go, minor >= 20 ? GO_TABLE_1_20 : GO_TABLE_1_16, minor);
	go.is_relocated = is_relocated;
	made_go_make(&go);
}

/* File offset of the build information. */
static uint32_t find_made(void)
{
	for (uint32_t i = MADE_GO_DATA; i < MADE_GO_BYTES; i += 16)
		if (!memcmp(go.bytes + i, "\xff Go buildinf:", 14))
			return i;
	fail();
	return 0;
}

static void versions_are_read_in_both_formats(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		make(26, i);
		assert_int_equal(read_made(), 0);
		assert_string_equal(info.version, "go1.26.3");
		assert_int_equal(info.minor, 26);
		assert_memory_equal(go.bytes + info.modules_offset, "path\tmain\n",
				    info.modules_bytes);
		assert_int_equal(info.modules_bytes, 10);
		make(17, i);
		assert_int_equal(read_made(), 0);
		assert_string_equal(info.version, "go1.17.3");
		assert_int_equal(info.minor, 17);
		assert_int_equal(info.modules_bytes, 0);
	}
}

static void versions_from_the_repository_have_a_number(void **state)
{
	static const struct {
		const char *version;
		uint32_t minor;
	} versions[] = {
		{ "go1.18", 18 },	 { "devel go1.28-5f1ab2c Mon Nov 2", 28 },
		{ "go1.21rc2", 21 },	 { "go1.24.1 X:nocoverageredesign", 24 },
		{ "devel +5f1ab2c", 0 }, { "go1.", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		uint32_t at;

		make(26, false);
		at = find_made() + 32;
		go.bytes[at] = strlen(versions[i].version);
		memcpy(go.bytes + at + 1, versions[i].version, go.bytes[at] + 1);
		assert_int_equal(read_made(), 0);
		assert_string_equal(info.version, versions[i].version);
		assert_int_equal(info.minor, versions[i].minor);
	}
}

static void it_is_found_by_its_section(void **state)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)go.bytes;
	Elf64_Shdr *section;

	(void)state;
	make(26, false);
	/* The table's section becomes the build information's, and the segment is not searched. */
	section = (Elf64_Shdr *)(go.bytes + header->e_shoff) + 1;
	section->sh_addr = MADE_GO_ADDRESS + find_made();
	section->sh_offset = find_made();
	section->sh_size = 64;
	memcpy(go.bytes + section[1].sh_offset + 1, ".go.buildinfo", 14);
	section[1].sh_size = 16;
	made_go_put_segment(&go, 2, PF_R, MADE_GO_DATA, MADE_GO_BYTES);
	assert_int_equal(read_made(), 0);
	section->sh_size = 7;
	assert_int_equal(read_made(), -ENOENT);
}

static void it_is_found_wherever_a_search_looks_at_once(void **state)
{
	static uint8_t bytes[200 << 10];
	struct elf_relocations relocations = { 0 };
	struct elf_image image;
	struct elf_pages pages;

	(void)state;
	make(26, false);
	memcpy(bytes, go.bytes, sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr));
	((Elf64_Ehdr *)bytes)->e_shnum = 0;
	((Elf64_Ehdr *)bytes)->e_shoff = 0;
	for (uint32_t at = 0x1000; at < sizeof(bytes) - 64; at += 16) {
		if (at % 0x1000 > 0x40 && at % 0x1000 < 0x1000 - 0x40)
			continue;
		((Elf64_Phdr *)(bytes + sizeof(Elf64_Ehdr)))[2] = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_W,
			.p_offset = 0x1000,
			.p_vaddr = 0x1000,
			.p_filesz = sizeof(bytes) - 0x1000,
			.p_memsz = sizeof(bytes) - 0x1000,
		};
		memcpy(bytes + at, go.bytes + find_made(), 64);
		assert_int_equal(elf_image_init_memory(&image, bytes, sizeof(bytes)), 0);
		elf_pages_init(&pages, &image);
		assert_int_equal(go_build_info_read(&info, &pages, &relocations), 0);
		assert_string_equal(info.version, "go1.26.3");
		elf_pages_deinit(&pages);
		elf_image_deinit(&image);
		memset(bytes + at, 0, 64);
	}
}

static void damaged_information_is_refused(void **state)
{
	uint32_t at;

	(void)state;
	make(26, false);
	at = find_made();
	/* No length, a length without end, one that is too large. */
	go.bytes[at + 32] = 0;
	assert_int_equal(read_made(), -EBADMSG);
	memset(go.bytes + at + 32, 0xff, 8);
	assert_int_equal(read_made(), -EBADMSG);
	go.bytes[at + 32] = GO_VERSION_MAX_BYTES + 1;
	assert_int_equal(read_made(), -EBADMSG);
	/* Numbers of other machines. */
	go.bytes[at + 15] = 1;
	assert_int_equal(read_made(), -EOPNOTSUPP);
	go.bytes[at + 15] = 0;
	go.bytes[at + 14] = 4;
	assert_int_equal(read_made(), -EOPNOTSUPP);
	/* Pointers to nothing, and none. */
	go.bytes[at + 14] = 8;
	made_go_put(&go, at + 16, 5, 8);
	assert_int_equal(read_made(), -EBADMSG);
	made_go_put(&go, at + 16, 0, 8);
	made_go_put(&go, at + 24, 0, 8);
	assert_int_equal(read_made(), -EBADMSG);
	memset(go.bytes + at, 0, 32);
	assert_int_equal(read_made(), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_read_in_both_formats),
		cmocka_unit_test(versions_from_the_repository_have_a_number),
		cmocka_unit_test(it_is_found_by_its_section),
		cmocka_unit_test(it_is_found_wherever_a_search_looks_at_once),
		cmocka_unit_test(damaged_information_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
