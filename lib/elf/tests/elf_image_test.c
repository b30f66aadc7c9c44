/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The macro of cmocka is in the way of lib/base/error.h. */
#undef fail

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "lib/base/error.h"
#include "lib/elf/elf_image.h"
#include "lib/elf/elf_notes.h"
#include "lib/elf/tests/elf_builder.h"

static struct elf_builder builder;

static const char *const system_files[] = {
	"/bin/ls",
	"/bin/bash",
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/proc/self/exe",
};

/* Compares with readelf: an independent reader. */
static void sections_are_those_of_readelf(void **state)
{
	size_t compared = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(system_files) / sizeof(system_files[0]); i++) {
		char link[256], command[512], line[512];
		struct elf_image image;
		FILE *readelf;
		ssize_t length;
		int fd;

		fd = open(system_files[i], O_RDONLY);
		if (fd < 0)
			continue;
		assert_int_equal(elf_image_init_fd(&image, fd), 0);
		length = readlink(system_files[i], link, sizeof(link) - 1);
		if (length > 0 && link[0] == '/')
			link[length] = '\0';
		else
			snprintf(link, sizeof(link), "%s", system_files[i]);
		snprintf(command, sizeof(command), "readelf -SW %s 2>/dev/null", link);
		readelf = popen(command, "r");
		assert_non_null(readelf);
		while (fgets(line, sizeof(line), readelf)) {
			uint64_t address, offset, size;
			const struct elf_section *section;
			char name[256], type[64];
			char *bracket = strchr(line, ']');
			int number;

			if (sscanf(line, " [%d]", &number) != 1 || !number)
				continue;
			assert_int_equal(sscanf(bracket + 1,
						" %255s %63s %" SCNx64 " %" SCNx64 " %" SCNx64,
						name, type, &address, &offset, &size),
					 5);
			section = &image.sections[number];
			assert_string_equal(section->name, name);
			assert_int_equal(section->address, address);
			assert_int_equal(section->offset, offset);
			assert_int_equal(section->size, size);
			compared++;
		}
		pclose(readelf);
		elf_image_deinit(&image);
		close(fd);
	}
	assert_true(compared > 40);
}

static void the_build_id_is_that_of_readelf(void **state)
{
	char line[512], expected[256] = "", found[256] = "";
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint32_t bytes;
	struct elf_image image;
	FILE *readelf;
	int fd;

	(void)state;
	fd = open("/bin/bash", O_RDONLY);
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(elf_image_build_id(&image, build_id, &bytes), 0);
	for (uint32_t i = 0; i < bytes; i++)
		sprintf(found + 2 * i, "%02x", build_id[i]);
	readelf = popen("readelf -nW /bin/bash", "r");
	while (fgets(line, sizeof(line), readelf))
		if (strstr(line, "Build ID: "))
			sscanf(strstr(line, "Build ID: "), "Build ID: %255s", expected);
	pclose(readelf);
	assert_string_equal(found, expected);
	/* The segments alone must do for files without section headers. */
	free(image.sections);
	image.sections = NULL;
	image.section_count = 0;
	memset(build_id, 0, sizeof(build_id));
	assert_int_equal(elf_image_build_id(&image, build_id, &bytes), 0);
	for (uint32_t i = 0; i < bytes; i++)
		sprintf(found + 2 * i, "%02x", build_id[i]);
	assert_string_equal(found, expected);
	elf_image_deinit(&image);
	close(fd);
}

static void the_vdso_is_read_from_memory(void **state)
{
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	struct elf_bytes bytes = { 0 };
	struct elf_image image;
	uint64_t address;
	uint32_t count;

	(void)state;
	if (!vdso)
		skip();
	assert_int_equal(elf_image_init_memory(&image, vdso, 4096), 0);
	assert_true(image.segment_count > 0);
	assert_int_equal(elf_image_build_id(&image, build_id, &count), 0);
	assert_int_equal(elf_image_mapping_address(&image, 0, 8192, &address), 0);
	assert_int_equal(elf_image_load_range(&image, 0, 64, 64, &bytes), 0);
	assert_memory_equal(bytes.data, vdso, 64);
	elf_bytes_deinit(&bytes);
	elf_image_deinit(&image);
}

static void other_files_are_not_supported(void **state)
{
	struct elf_image image;
	int fd;

	(void)state;
	assert_int_equal(elf_image_init_memory(&image, "#!/bin/sh\n0123456789", 20), -EOPNOTSUPP);
	assert_int_equal(elf_image_init_memory(&image, NULL, 0), -EOPNOTSUPP);
	elf_builder_init(&builder, 1);
	built_header(&builder)->e_machine = EM_RISCV;
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), -EOPNOTSUPP);
	elf_builder_init(&builder, 1);
	built_header(&builder)->e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), -EOPNOTSUPP);
	fd = open("/", O_RDONLY);
	assert_int_equal(elf_image_init_fd(&image, fd), -EOPNOTSUPP);
	close(fd);
}

static void a_header_that_is_cut_is_bad(void **state)
{
	struct elf_image image;

	(void)state;
	elf_builder_init(&builder, 1);
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, 20), -EBADMSG);
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, 63), -EBADMSG);
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, 100), -EBADMSG);
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, 64 + 56), 0);
	elf_image_deinit(&image);
}

static void impossible_program_headers_are_bad(void **state)
{
	struct elf_image image;

	(void)state;
	elf_builder_init(&builder, 1);
	built_segment(&builder, 0)->p_filesz = 1ULL << 63;
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), -EBADMSG);
	built_segment(&builder, 0)->p_offset = 1ULL << 63;
	built_segment(&builder, 0)->p_memsz = 1ULL << 63;
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), -EBADMSG);
	elf_builder_init(&builder, 1);
	built_segment(&builder, 0)->p_vaddr = UINT64_MAX;
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), -EBADMSG);
	elf_builder_init(&builder, 1);
	built_header(&builder)->e_phoff = UINT64_MAX - 8;
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), -EBADMSG);
	elf_builder_init(&builder, 1);
	built_header(&builder)->e_phentsize = 57;
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), -EBADMSG);
	elf_builder_init(&builder, 1);
	built_header(&builder)->e_phnum = ELF_MAX_SEGMENTS + 1;
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), -E2BIG);
}

static void a_damaged_section_table_leaves_the_segments(void **state)
{
	static const uint64_t offsets[] = { 1, BUILT_BYTES, 1ULL << 63, UINT64_MAX };
	struct elf_image image;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		elf_builder_init(&builder, 1);
		built_header(&builder)->e_shoff = offsets[i];
		built_header(&builder)->e_shnum = 500;
		assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
		assert_int_equal(image.section_count, 0);
		assert_int_equal(image.segment_count, 1);
		assert_null(elf_image_find_section(&image, ".text"));
		elf_image_deinit(&image);
	}
}

static void section_names_outside_of_the_table_are_empty(void **state)
{
	struct elf_image image;
	uint32_t text;

	(void)state;
	elf_builder_init(&builder, 1);
	text = elf_builder_add(&builder, ".text", SHT_PROGBITS, SHF_EXECINSTR, "abcd", 4);
	elf_builder_finish(&builder);
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_non_null(elf_image_find_section(&image, ".text"));
	elf_image_deinit(&image);
	built_section(&builder, text)->sh_name = 0x7fffffff;
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_null(elf_image_find_section(&image, ".text"));
	assert_string_equal(image.sections[text].name, "");
	elf_image_deinit(&image);
}

static void counts_beyond_16_bits_come_from_section_0(void **state)
{
	struct elf_image image;

	(void)state;
	elf_builder_init(&builder, 2);
	elf_builder_add(&builder, ".text", SHT_PROGBITS, SHF_EXECINSTR, "abcd", 4);
	elf_builder_finish(&builder);
	built_section(&builder, 0)->sh_size = builder.section_count;
	built_section(&builder, 0)->sh_info = 2;
	built_section(&builder, 0)->sh_link = built_header(&builder)->e_shstrndx;
	built_header(&builder)->e_shnum = 0;
	built_header(&builder)->e_phnum = PN_XNUM;
	built_header(&builder)->e_shstrndx = SHN_XINDEX;
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(image.segment_count, 2);
	assert_int_equal(image.section_count, 3);
	assert_non_null(elf_image_find_section(&image, ".text"));
	elf_image_deinit(&image);
	built_section(&builder, 0)->sh_size = UINT64_MAX;
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(image.section_count, 0);
	assert_int_equal(image.segment_count, 2);
	elf_image_deinit(&image);
}

static void sections_are_bounded_and_checked_when_read(void **state)
{
	struct elf_bytes bytes = { 0 };
	struct elf_image image;
	struct elf_section section;
	uint32_t text;

	(void)state;
	elf_builder_init(&builder, 1);
	text = elf_builder_add(&builder, ".text", SHT_PROGBITS, SHF_EXECINSTR, "abcd", 4);
	elf_builder_finish(&builder);
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	section = image.sections[text];
	assert_int_equal(elf_image_load_section(&image, &section, 4, &bytes), 0);
	assert_int_equal(bytes.size, 4);
	assert_memory_equal(bytes.data, "abcd", 4);
	elf_bytes_deinit(&bytes);
	assert_int_equal(elf_image_load_section(&image, &section, 3, &bytes), -E2BIG);
	section.size = 1ULL << 63;
	assert_int_equal(elf_image_load_section(&image, &section, UINT64_MAX, &bytes), -EBADMSG);
	section.size = 4;
	section.offset = UINT64_MAX - 1;
	assert_int_equal(elf_image_load_section(&image, &section, UINT64_MAX, &bytes), -EBADMSG);
	section.type = SHT_NOBITS;
	assert_int_equal(elf_image_load_section(&image, &section, UINT64_MAX, &bytes), -ENOENT);
	assert_null(bytes.data);
	elf_image_deinit(&image);
}

static void compressed_sections_come_out_plain(void **state)
{
	static char plain[5000];
	uint8_t packed[6000];

	(void)state;
	for (size_t i = 0; i < sizeof(plain); i++)
		plain[i] = i % 97;
	for (uint32_t type = 1; type <= 3; type++) {
		Elf64_Chdr header = { .ch_type = type, .ch_size = sizeof(plain) };
		uLongf size = sizeof(packed) - sizeof(header);
		struct elf_bytes bytes = { 0 };
		struct elf_image image;
		int section;

		if (type == 2)
			size = ZSTD_compress(packed + sizeof(header), size, plain, sizeof(plain),
					     1);
		else
			compress(packed + sizeof(header), &size, (Bytef *)plain, sizeof(plain));
		memcpy(packed, &header, sizeof(header));
		elf_builder_init(&builder, 1);
		section = elf_builder_add(&builder, ".debug_x", SHT_PROGBITS, SHF_COMPRESSED,
					  packed, size + sizeof(header));
		elf_builder_finish(&builder);
		assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
		if (type == 3) {
			assert_int_equal(elf_image_load_section(&image, &image.sections[section],
								5000, &bytes),
					 -EOPNOTSUPP);
		} else {
			assert_int_equal(elf_image_load_section(&image, &image.sections[section],
								5000, &bytes),
					 0);
			assert_int_equal(bytes.size, sizeof(plain));
			assert_memory_equal(bytes.data, plain, sizeof(plain));
			elf_bytes_deinit(&bytes);
			assert_int_equal(elf_image_load_section(&image, &image.sections[section],
								4999, &bytes),
					 -E2BIG);
		}
		elf_image_deinit(&image);
	}
}

static void sections_compressed_in_the_old_way_come_out_plain(void **state)
{
	static char plain[5000];
	uint8_t packed[6000] = { 'Z', 'L', 'I', 'B', 0, 0, 0, 0, 0, 0, 5000 >> 8, 5000 & 0xff };
	enum { HEADER_BYTES = 12 };
	uLongf size = sizeof(packed) - HEADER_BYTES;
	struct elf_bytes bytes = { 0 };
	struct elf_image image;
	int section, other;

	(void)state;
	for (size_t i = 0; i < sizeof(plain); i++)
		plain[i] = i % 97;
	compress(packed + HEADER_BYTES, &size, (Bytef *)plain, sizeof(plain));
	elf_builder_init(&builder, 1);
	section = elf_builder_add(&builder, ".zdebug_frame", SHT_PROGBITS, 0, packed,
				  size + HEADER_BYTES);
	other = elf_builder_add(&builder, ".zdebug_line", SHT_PROGBITS, 0, packed + 1, 30);
	elf_builder_finish(&builder);
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(elf_image_load_section(&image, &image.sections[section], 5000, &bytes), 0);
	assert_int_equal(bytes.size, sizeof(plain));
	assert_memory_equal(bytes.data, plain, sizeof(plain));
	elf_bytes_deinit(&bytes);
	assert_int_equal(elf_image_load_section(&image, &image.sections[section], 4999, &bytes),
			 -E2BIG);
	assert_int_equal(elf_image_load_section(&image, &image.sections[other], 5000, &bytes),
			 -EBADMSG);
	elf_image_deinit(&image);
}

static void addresses_are_read_through_the_segments(void **state)
{
	struct elf_image image;
	uint32_t text;
	char buffer[8];

	(void)state;
	elf_builder_init(&builder, 1);
	text = elf_builder_add(&builder, ".text", SHT_PROGBITS, SHF_EXECINSTR, "abcd", 4);
	elf_builder_finish(&builder);
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(elf_image_read_address(&image, image.sections[text].address, buffer, 4),
			 0);
	assert_memory_equal(buffer, "abcd", 4);
	assert_int_equal(elf_image_bytes_at_address(&image, BUILT_ADDRESS + 100),
			 BUILT_BYTES - 100);
	assert_int_equal(elf_image_bytes_at_address(&image, BUILT_ADDRESS - 1), 0);
	assert_int_equal(elf_image_read_address(&image, BUILT_ADDRESS + BUILT_BYTES - 4, buffer, 5),
			 -EBADMSG);
	assert_int_equal(elf_image_read_address(&image, BUILT_ADDRESS - 1, buffer, 1), -EBADMSG);
	elf_image_deinit(&image);
}

static void a_mapping_finds_its_segment(void **state)
{
	struct elf_image image;
	uint64_t address = 1;

	(void)state;
	elf_builder_init(&builder, 4);
	/* As lld lays out: the page at 0x1000 is in the read-only and the executable segment. */
	*built_segment(&builder, 0) = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R,
		.p_vaddr = 0,
		.p_filesz = 0x1a00,
		.p_memsz = 0x1a00,
	};
	*built_segment(&builder, 1) = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = 0x1a00,
		.p_vaddr = 0x2a00,
		.p_filesz = 0x800,
		.p_memsz = 0x800,
	};
	*built_segment(&builder, 2) = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_W,
		.p_offset = 0x2200,
		.p_vaddr = 0x4200,
		.p_filesz = 0x100,
		.p_memsz = 0x9000,
	};
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(elf_image_mapping_address(&image, 0x1000, 0x2000, &address), 0);
	assert_int_equal(address, 0x2000);
	/* The second page of it, after an mprotect of the first. */
	assert_int_equal(elf_image_mapping_address(&image, 0x2000, 0x1000, &address), 0);
	assert_int_equal(address, 0x3000);
	assert_int_equal(elf_image_mapping_address(&image, 0, 0x1000, &address), 0);
	assert_int_equal(address, 0);
	/* Memory that is not executable is that of another segment, even if that has fewer bytes. */
	assert_int_equal(elf_image_data_address(&image, 0x1000, 0x2000, &address), 0);
	assert_int_equal(address, 0x1000);
	assert_int_equal(elf_image_data_address(&image, 0x2000, 0x1000, &address), 0);
	assert_int_equal(address, 0x4000);
	address = 0;
	assert_int_equal(elf_image_mapping_address(&image, 0x3000, 0x1000, &address), -ENOENT);
	assert_int_equal(elf_image_mapping_address(&image, UINT64_MAX - 5, 0x1000, &address),
			 -ENOENT);
	assert_int_equal(address, 0);
	/* The order does not matter: the executable segment is preferred even with fewer bytes. */
	image.segments[3] = image.segments[0];
	assert_int_equal(elf_image_mapping_address(&image, 0x1000, 0x2000, &address), 0);
	assert_int_equal(address, 0x2000);
	elf_image_deinit(&image);
}

static void a_file_that_shrinks_while_open_is_bad(void **state)
{
	char path[] = "/tmp/elf_image_test_XXXXXX";
	struct elf_image image;
	char buffer[64];
	int fd = mkstemp(path);

	(void)state;
	unlink(path);
	elf_builder_init(&builder, 1);
	assert_int_equal(write(fd, builder.bytes, BUILT_BYTES), BUILT_BYTES);
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(elf_image_read(&image, 8000, buffer, 64), 0);
	assert_int_equal(ftruncate(fd, 8032), 0);
	assert_int_equal(elf_image_read(&image, 8000, buffer, 64), -EBADMSG);
	assert_non_null(strstr(error_text(), "cut"));
	elf_image_deinit(&image);
	close(fd);
}

static void damaged_notes_are_bad_and_others_are_passed_over(void **state)
{
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t content[20];
	} notes[2] = {
		{ { 4, 20, 5 }, "GNU", { 1 } },
		{ { 4, 20, NT_GNU_BUILD_ID }, "GNU", { 0xab, 0xcd } },
	};
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint32_t bytes = 0;

	(void)state;
	assert_int_equal(elf_notes_build_id(notes, sizeof(notes), build_id, &bytes), 0);
	assert_int_equal(bytes, 20);
	assert_int_equal(build_id[1], 0xcd);
	assert_int_equal(elf_notes_build_id(notes, sizeof(notes[0]), build_id, &bytes), -ENOENT);
	assert_int_equal(elf_notes_build_id(notes, 5, build_id, &bytes), -ENOENT);
	assert_int_equal(elf_notes_build_id(notes, sizeof(notes) - 1, build_id, &bytes), -EBADMSG);
	notes[0].header.n_namesz = UINT32_MAX;
	assert_int_equal(elf_notes_build_id(notes, sizeof(notes), build_id, &bytes), -EBADMSG);
	notes[1].header.n_descsz = 0;
	assert_int_equal(elf_notes_build_id(&notes[1], sizeof(notes[1]), build_id, &bytes),
			 -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_are_those_of_readelf),
		cmocka_unit_test(the_build_id_is_that_of_readelf),
		cmocka_unit_test(the_vdso_is_read_from_memory),
		cmocka_unit_test(other_files_are_not_supported),
		cmocka_unit_test(a_header_that_is_cut_is_bad),
		cmocka_unit_test(impossible_program_headers_are_bad),
		cmocka_unit_test(a_damaged_section_table_leaves_the_segments),
		cmocka_unit_test(section_names_outside_of_the_table_are_empty),
		cmocka_unit_test(counts_beyond_16_bits_come_from_section_0),
		cmocka_unit_test(sections_are_bounded_and_checked_when_read),
		cmocka_unit_test(compressed_sections_come_out_plain),
		cmocka_unit_test(sections_compressed_in_the_old_way_come_out_plain),
		cmocka_unit_test(addresses_are_read_through_the_segments),
		cmocka_unit_test(a_mapping_finds_its_segment),
		cmocka_unit_test(a_file_that_shrinks_while_open_is_bad),
		cmocka_unit_test(damaged_notes_are_bad_and_others_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
