/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/elf/elf_symbols.h"
#include "lib/elf/tests/elf_builder.h"

static struct elf_builder builder;

/* Parses a row of readelf with a defined function. */
static bool parse_row(const char *line, uint64_t *address, uint64_t *size, char name[512])
{
	char type[32], bind[32], visibility[32], section[32];

	if (sscanf(line, " %*d: %" SCNx64 " %" SCNi64 " %31s %31s %31s %31s %511s", address, size,
		   type, bind, visibility, section, name) != 7)
		return false;
	return (!strcmp(type, "FUNC") || !strcmp(type, "IFUNC")) && strcmp(section, "UND") &&
	       strcmp(section, "ABS");
}

struct comparison {
	size_t functions;
	size_t missing;
	size_t same_name;
};

/* Every function that readelf lists must be found at its first and last byte. */
static void compare_file(const char *path, struct comparison *comparison)
{
	char command[512], line[4096], name[512], found_name[ELF_SYMBOL_NAME_MAX_BYTES];
	struct elf_symbols symbols;
	struct elf_image image;
	FILE *readelf;
	int fd = open(path, O_RDONLY), err;

	if (fd < 0)
		return;
	if (elf_image_init_fd(&image, fd)) {
		close(fd);
		return;
	}
	err = elf_symbols_init(&symbols, &image);
	if (!err) {
		for (uint32_t i = 1; i < symbols.count; i++)
			assert_true(symbols.symbols[i - 1].address < symbols.symbols[i].address);
		snprintf(command, sizeof(command), "readelf -sW '%s' 2>/dev/null", path);
		readelf = popen(command, "r");
		while (fgets(line, sizeof(line), readelf)) {
			const struct elf_symbol *symbol, *last;
			uint64_t address, size;

			if (!parse_row(line, &address, &size, name))
				continue;
			comparison->functions++;
			symbol = elf_symbols_lookup(&symbols, address);
			last = size ? elf_symbols_lookup(&symbols, address + size - 1) : symbol;
			if (!symbol || symbol->address != address || !last) {
				comparison->missing++;
				continue;
			}
			assert_int_equal(elf_symbols_name(&symbols, &image, symbol, found_name,
							  sizeof(found_name)),
					 0);
			name[strcspn(name, "@")] = '\0';
			if (!strncmp(name, found_name, strlen(name)))
				comparison->same_name++;
		}
		pclose(readelf);
		elf_symbols_deinit(&symbols);
	} else {
		assert_int_equal(err, -ENOENT);
	}
	elf_image_deinit(&image);
	close(fd);
}

static void functions_are_those_of_readelf(void **state)
{
	static const char *const patterns[] = {
		"/proc/self/exe",
		"/bin/bash",
		"/bin/ls",
		"/usr/bin/g*",
		"/lib/x86_64-linux-gnu/lib[cmz]*.so.*",
		"/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/lib/aarch64-linux-gnu/lib[cmz]*.so.*",
	};
	struct comparison comparison = { 0 };
	char self[256] = "";

	(void)state;
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	compare_file(self, &comparison);
	assert_true(comparison.functions > 10);
	for (size_t i = 1; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		glob_t files;

		if (!glob(patterns[i], 0, NULL, &files))
			for (size_t k = 0; k < files.gl_pathc && k < 60; k++)
				compare_file(files.gl_pathv[k], &comparison);
		globfree(&files);
	}
	print_message("# %zu functions, %zu missing, %zu with the same name\n",
		      comparison.functions, comparison.missing, comparison.same_name);
	assert_true(comparison.functions > 1000);
	assert_int_equal(comparison.missing, 0);
	/* Only one name is found for aliases at one address. */
	assert_true(comparison.same_name * 10 > comparison.functions * 7);
}

struct row {
	const char *name;
	uint8_t binding;
	uint8_t type;
	uint64_t offset;
	uint64_t size;
	/* 0: the section of code. */
	uint16_t section;
};

enum {
	CODE_BYTES = 1024,
	ANOTHER_SECTION = 50,
};

/* An image with a section of code and the symbols @rows; gives the code's address. */
static void build(struct elf_image *image, const struct row *rows, size_t count, uint32_t type,
		  uint16_t machine, uint64_t *code)
{
	uint8_t bytes[CODE_BYTES] = { 0 };
	char names[512] = "";
	Elf64_Sym symbols[16];
	size_t used = 1;
	uint32_t text, strings, table;

	elf_builder_init(&builder, 2);
	built_header(&builder)->e_machine = machine;
	text = elf_builder_add(&builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, bytes,
			       sizeof(bytes));
	*code = builder.sections[text].sh_addr;
	for (size_t i = 0; i < count; i++) {
		symbols[i] = (Elf64_Sym){
			.st_name = used,
			.st_info = ELF64_ST_INFO(rows[i].binding, rows[i].type),
			.st_shndx = rows[i].section ? rows[i].section : text,
			.st_value = *code + rows[i].offset,
			.st_size = rows[i].size,
		};
		strcpy(names + used, rows[i].name);
		used += strlen(rows[i].name) + 1;
	}
	strings = elf_builder_add(&builder, ".strtab", SHT_STRTAB, 0, names, used);
	table = elf_builder_add(&builder, type == SHT_SYMTAB ? ".symtab" : ".dynsym", type, 0,
				symbols, count * sizeof(symbols[0]));
	builder.sections[table].sh_link = strings;
	builder.sections[table].sh_entsize = sizeof(Elf64_Sym);
	elf_builder_finish(&builder);
	assert_int_equal(elf_image_init_memory(image, builder.bytes, BUILT_BYTES), 0);
}

static const char *name_at(const struct elf_symbols *symbols, const struct elf_image *image,
			   uint64_t address)
{
	static char name[256];
	const struct elf_symbol *symbol = elf_symbols_lookup(symbols, address);

	if (!symbol)
		return "";
	assert_int_equal(elf_symbols_name(symbols, image, symbol, name, sizeof(name)), 0);
	return name;
}

/* The file as build() has made it, with @count sections more and the table of sections behind the rest. */
static uint8_t *with_more_sections(uint32_t count)
{
	uint32_t section_count = builder.section_count + count;
	uint8_t *bytes = calloc(1, BUILT_BYTES + section_count * sizeof(Elf64_Shdr));
	Elf64_Ehdr *header = (Elf64_Ehdr *)bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(bytes + BUILT_BYTES);

	assert_non_null(bytes);
	memcpy(bytes, builder.bytes, BUILT_BYTES);
	memcpy(sections, bytes + header->e_shoff, builder.section_count * sizeof(*sections));
	sections[0].sh_size = section_count;
	header->e_shoff = BUILT_BYTES;
	header->e_shnum = 0;
	return bytes;
}

static void symbols_of_files_with_very_many_sections_are_found(void **state)
{
	/* The number of their section is in another table. */
	static const struct row rows[] = {
		{ "function", STB_GLOBAL, STT_FUNC, 0x10, 0x10, SHN_XINDEX },
		{ "label", STB_LOCAL, STT_NOTYPE, 0x40, 0, SHN_XINDEX },
		{ "data", STB_LOCAL, STT_NOTYPE, CODE_BYTES + 0x40, 0, SHN_XINDEX },
	};
	enum { MORE = 70000 };
	struct elf_symbols symbols;
	struct elf_image image;
	uint8_t *bytes;
	uint64_t code;

	(void)state;
	build(&image, rows, 3, SHT_SYMTAB, EM_X86_64, &code);
	elf_image_deinit(&image);
	bytes = with_more_sections(MORE);
	assert_int_equal(elf_image_init_memory(&image, bytes,
					       BUILT_BYTES + (builder.section_count + MORE) *
								     sizeof(Elf64_Shdr)),
			 0);
	assert_true(image.section_count > MORE);
	assert_int_equal(elf_symbols_init(&symbols, &image), 0);
	assert_string_equal(name_at(&symbols, &image, code + 0x10), "function");
	assert_string_equal(name_at(&symbols, &image, code + 0x40), "label");
	assert_int_equal(symbols.count, 2);
	elf_symbols_deinit(&symbols);
	elf_image_deinit(&image);
	free(bytes);
}

static void functions_are_entered_but_not_at_labels_and_cold_parts(void **state)
{
	static const struct row rows[] = {
		{ "hot", STB_GLOBAL, STT_FUNC, 0x10, 0x10, 0 },
		{ "hot.cold", STB_LOCAL, STT_FUNC, 0x40, 0x10, 0 },
		{ "hot.part.0", STB_LOCAL, STT_FUNC, 0x60, 0x10, 0 },
		{ "label", STB_LOCAL, STT_NOTYPE, 0x80, 0, 0 },
	};
	static const bool are_entries[] = { true, false, true, false };
	struct elf_symbols symbols;
	struct elf_image image;
	uint64_t code;

	(void)state;
	build(&image, rows, 4, SHT_SYMTAB, EM_X86_64, &code);
	assert_int_equal(elf_symbols_init(&symbols, &image), 0);
	assert_int_equal(symbols.count, 4);
	for (uint32_t i = 0; i < symbols.count; i++)
		assert_int_equal(elf_symbols_is_entry(&symbols, &image, &symbols.symbols[i]),
				 are_entries[i]);
	elf_symbols_deinit(&symbols);
	elf_image_deinit(&image);
}

static void the_innermost_function_is_found(void **state)
{
	static const struct row rows[] = {
		{ "outer", STB_GLOBAL, STT_FUNC, 0x10, 0x100, 0 },
		{ "inner", STB_LOCAL, STT_FUNC, 0x40, 0x10, 0 },
		{ "label", STB_LOCAL, STT_NOTYPE, 0x60, 0, 0 },
		{ "object", STB_GLOBAL, STT_OBJECT, 0x70, 8, 0 },
		{ "behind", STB_LOCAL, STT_NOTYPE, 0x200, 0, 0 },
		{ "elsewhere", STB_LOCAL, STT_NOTYPE, 0x240, 0, ANOTHER_SECTION },
		{ "undefined", STB_GLOBAL, STT_FUNC, 0x280, 16, SHN_ABS },
		{ "open", STB_GLOBAL, STT_FUNC, 0x300, 0, 0 },
	};
	struct elf_symbols symbols;
	struct elf_image image;
	uint64_t code;

	(void)state;
	build(&image, rows, 8, SHT_SYMTAB, EM_X86_64, &code);
	assert_int_equal(elf_symbols_init(&symbols, &image), 0);
	assert_string_equal(name_at(&symbols, &image, code + 0xf), "");
	assert_string_equal(name_at(&symbols, &image, code + 0x10), "outer");
	assert_string_equal(name_at(&symbols, &image, code + 0x40), "inner");
	assert_string_equal(name_at(&symbols, &image, code + 0x4f), "inner");
	assert_string_equal(name_at(&symbols, &image, code + 0x50), "outer");
	assert_string_equal(name_at(&symbols, &image, code + 0x60), "outer");
	assert_string_equal(name_at(&symbols, &image, code + 0x75), "outer");
	assert_string_equal(name_at(&symbols, &image, code + 0x10f), "outer");
	assert_string_equal(name_at(&symbols, &image, code + 0x110), "");
	assert_string_equal(name_at(&symbols, &image, code + 0x200), "behind");
	assert_string_equal(name_at(&symbols, &image, code + 0x2ff), "behind");
	assert_string_equal(name_at(&symbols, &image, code + 0x300), "open");
	/* Without a size: to the end of the section and no further. */
	assert_string_equal(name_at(&symbols, &image, code + CODE_BYTES - 1), "open");
	assert_string_equal(name_at(&symbols, &image, code + CODE_BYTES), "");
	assert_string_equal(name_at(&symbols, &image, UINT64_MAX), "");
	elf_symbols_deinit(&symbols);
	elf_image_deinit(&image);
}

/* Adds a table of .eh_frame_hdr with the functions at @offsets from @code, and reads the image again. */
static void add_functions(struct elf_image *image, uint64_t code, const uint32_t *offsets,
			  uint32_t count)
{
	uint32_t words[3 + 2 * 8] = { 0x3b031b01, 0, count };
	uint64_t table = BUILT_ADDRESS + (builder.used + 15) / 16 * 16;

	for (uint32_t i = 0; i < count; i++)
		words[3 + 2 * i] = (uint32_t)(code + offsets[i] - table);
	elf_builder_add(&builder, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, words, sizeof(words));
	*built_segment(&builder, 1) = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME,
						    .p_offset = table - BUILT_ADDRESS,
						    .p_vaddr = table,
						    .p_filesz = sizeof(words),
						    .p_memsz = sizeof(words) };
	elf_image_deinit(image);
	assert_int_equal(elf_image_init_memory(image, builder.bytes, BUILT_BYTES), 0);
}

static void a_symbol_without_a_size_ends_at_the_next_function(void **state)
{
	static const struct row rows[] = {
		{ "sized", STB_GLOBAL, STT_FUNC, 0x10, 0x80, 0 },
		{ "open", STB_GLOBAL, STT_FUNC, 0x100, 0, 0 },
		{ "bare", STB_GLOBAL, STT_FUNC, 0x200, 0, 0 },
		{ "last", STB_GLOBAL, STT_FUNC, 0x300, 0, 0 },
	};
	/* The first two are in the symbol with a size; one is the second symbol, and none the third or the fourth. */
	static const uint32_t offsets[] = { 0x10, 0x40, 0x100, 0x140, 0x240, 0x280 };
	struct elf_symbols symbols;
	struct elf_image image;
	uint64_t code;

	(void)state;
	build(&image, rows, 4, SHT_DYNSYM, EM_X86_64, &code);
	add_functions(&image, code, offsets, 6);
	assert_int_equal(elf_symbols_init(&symbols, &image), 0);
	assert_string_equal(name_at(&symbols, &image, code + 0x8f), "sized");
	assert_string_equal(name_at(&symbols, &image, code + 0x13f), "open");
	assert_string_equal(name_at(&symbols, &image, code + 0x140), "");
	assert_string_equal(name_at(&symbols, &image, code + 0x1ff), "");
	assert_string_equal(name_at(&symbols, &image, code + 0x23f), "bare");
	assert_string_equal(name_at(&symbols, &image, code + 0x240), "");
	assert_string_equal(name_at(&symbols, &image, code + CODE_BYTES - 1), "last");
	elf_symbols_deinit(&symbols);
	elf_image_deinit(&image);
}

static void of_several_at_one_address_the_global_function_stays(void **state)
{
	static const struct row rows[] = {
		{ "local", STB_LOCAL, STT_FUNC, 0, 16, 0 },
		{ "label", STB_GLOBAL, STT_NOTYPE, 0, 16, 0 },
		{ "weak", STB_WEAK, STT_FUNC, 0, 16, 0 },
		{ "global", STB_GLOBAL, STT_FUNC, 0, 16, 0 },
		{ "second", STB_GLOBAL, STT_FUNC, 0, 16, 0 },
	};
	struct elf_symbols symbols;
	struct elf_image image;
	uint64_t code;

	(void)state;
	build(&image, rows, 5, SHT_DYNSYM, EM_X86_64, &code);
	assert_int_equal(elf_symbols_init(&symbols, &image), 0);
	assert_int_equal(symbols.count, 1);
	assert_string_equal(name_at(&symbols, &image, code), "global");
	elf_symbols_deinit(&symbols);
	elf_image_deinit(&image);
}

/* Within 4 GB they are sorted in another way than beyond. */
static void functions_may_be_far_apart(void **state)
{
	static const uint64_t distances[] = { 0x1000, UINT32_MAX - 0x20ULL, UINT32_MAX - 0x10ULL,
					      1ULL << 40 };

	(void)state;
	for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
		uint64_t far = distances[i];
		const struct row rows[] = {
			{ "last", STB_GLOBAL, STT_FUNC, far + 0x20, 0x10, 0 },
			{ "second", STB_GLOBAL, STT_FUNC, 0x10, 0x10, 0 },
			{ "far-local", STB_LOCAL, STT_FUNC, far, 0x10, 0 },
			{ "far", STB_GLOBAL, STT_FUNC, far, 0x10, 0 },
			{ "first", STB_GLOBAL, STT_FUNC, 0, 0x10, 0 },
		};
		struct elf_symbols symbols;
		struct elf_image image;
		uint64_t code;

		build(&image, rows, 5, SHT_SYMTAB, EM_X86_64, &code);
		elf_image_deinit(&image);
		*built_segment(&builder, 1) = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = code + far,
			.p_memsz = 0x1000,
		};
		assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
		assert_int_equal(elf_symbols_init(&symbols, &image), 0);
		assert_int_equal(symbols.count, 4);
		assert_string_equal(name_at(&symbols, &image, code), "first");
		assert_string_equal(name_at(&symbols, &image, code + 0x1f), "second");
		assert_string_equal(name_at(&symbols, &image, code + far), "far");
		assert_string_equal(name_at(&symbols, &image, code + far + 0x20), "last");
		elf_symbols_deinit(&symbols);
		elf_image_deinit(&image);
	}
}

static void mapping_symbols_of_arm64_name_nothing(void **state)
{
	static const struct row rows[] = {
		{ "$x", STB_LOCAL, STT_NOTYPE, 0, 0, 0 },
		{ "entry", STB_LOCAL, STT_NOTYPE, 0x10, 0, 0 },
		{ "$d.1", STB_LOCAL, STT_NOTYPE, 0x20, 0, 0 },
	};
	struct elf_symbols symbols;
	struct elf_image image;
	uint64_t code;

	(void)state;
	build(&image, rows, 3, SHT_SYMTAB, EM_AARCH64, &code);
	assert_int_equal(elf_symbols_init(&symbols, &image), 0);
	assert_int_equal(symbols.count, 1);
	assert_string_equal(name_at(&symbols, &image, code + 0x24), "entry");
	elf_symbols_deinit(&symbols);
	elf_image_deinit(&image);
}

static void damaged_tables_are_bad(void **state)
{
	static const struct row rows[] = { { "f", STB_GLOBAL, STT_FUNC, 0, 16, 0 } };
	struct elf_symbols symbols;
	struct elf_image image;
	char name[16];
	uint64_t code;

	(void)state;
	build(&image, rows, 1, SHT_SYMTAB, EM_X86_64, &code);
	image.sections[3].size = 1ULL << 63;
	assert_int_equal(elf_symbols_init(&symbols, &image), -EBADMSG);
	image.sections[3].size = sizeof(Elf64_Sym);
	image.sections[3].link = 77;
	assert_int_equal(elf_symbols_init(&symbols, &image), -EBADMSG);
	image.sections[3].link = 2;
	image.sections[3].entry_bytes = 23;
	assert_int_equal(elf_symbols_init(&symbols, &image), -EBADMSG);
	image.sections[3].entry_bytes = sizeof(Elf64_Sym);
	image.segments[0].flags = PF_R;
	assert_int_equal(elf_symbols_init(&symbols, &image), -ENOENT);
	image.segments[0].flags = PF_R | PF_X;
	/* The string table ends before the name, or lies outside of the file. */
	image.sections[2].size = 2;
	assert_int_equal(elf_symbols_init(&symbols, &image), 0);
	assert_int_equal(elf_symbols_name(&symbols, &image, symbols.symbols, name, sizeof(name)),
			 -EBADMSG);
	symbols.names[0].size = 1;
	assert_int_equal(elf_symbols_name(&symbols, &image, symbols.symbols, name, sizeof(name)),
			 -EBADMSG);
	symbols.names[0] = (struct elf_string_table){ .offset = UINT64_MAX - 1, .size = 100 };
	assert_int_equal(elf_symbols_name(&symbols, &image, symbols.symbols, name, sizeof(name)),
			 -EBADMSG);
	elf_symbols_deinit(&symbols);
	elf_image_deinit(&image);
}

/* A sparse file costs its maker nothing. */
static void a_table_of_a_terabyte_is_not_read_to_its_end(void **state)
{
	static const struct row rows[] = { { "f", STB_GLOBAL, STT_FUNC, 0, 16, 0 } };
	struct elf_symbols symbols;
	struct elf_image image;
	int fd = memfd_create("sparse", MFD_CLOEXEC);
	uint64_t code;

	(void)state;
	build(&image, rows, 1, SHT_SYMTAB, EM_X86_64, &code);
	elf_image_deinit(&image);
	assert_int_equal(write(fd, builder.bytes, BUILT_BYTES), BUILT_BYTES);
	assert_int_equal(ftruncate(fd, 1LL << 40), 0);
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	image.sections[3].size = (1ULL << 40) - image.sections[3].offset;
	alarm(60);
	assert_int_equal(elf_symbols_init(&symbols, &image), 0);
	alarm(0);
	assert_int_equal(symbols.count, 1);
	elf_symbols_deinit(&symbols);
	elf_image_deinit(&image);
	close(fd);
}

static void names_from_memory_are_those_from_the_file(void **state)
{
	struct elf_symbols from_file, from_memory;
	char name[ELF_SYMBOL_NAME_MAX_BYTES], other[ELF_SYMBOL_NAME_MAX_BYTES];
	struct elf_image image;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(elf_symbols_init(&from_file, &image), 0);
	assert_int_equal(elf_symbols_init(&from_memory, &image), 0);
	elf_symbols_load_names(&from_memory, &image, 1);
	assert_null(from_memory.names[0].bytes.data);
	elf_symbols_load_names(&from_memory, &image, UINT32_MAX);
	assert_non_null(from_memory.names[0].bytes.data);
	assert_int_equal(from_file.count, from_memory.count);
	for (uint32_t i = 0; i < from_file.count; i++) {
		int err = elf_symbols_name(&from_file, &image, &from_file.symbols[i], name,
					   sizeof(name));

		assert_int_equal(elf_symbols_name(&from_memory, &image, &from_memory.symbols[i],
						  other, sizeof(other)),
				 err);
		if (!err)
			assert_string_equal(name, other);
	}
	elf_symbols_deinit(&from_file);
	elf_symbols_deinit(&from_memory);
	elf_image_deinit(&image);
	close(fd);
}

static void long_names_are_cut_to_fit(void **state)
{
	struct row row = { "", STB_GLOBAL, STT_FUNC, 0, 16, 0 };
	struct elf_symbols symbols;
	struct elf_image image;
	char long_name[301], name[300];
	uint64_t code;

	(void)state;
	memset(long_name, 'n', 300);
	long_name[300] = '\0';
	row.name = long_name;
	build(&image, &row, 1, SHT_SYMTAB, EM_X86_64, &code);
	assert_int_equal(elf_symbols_init(&symbols, &image), 0);
	assert_int_equal(elf_symbols_name(&symbols, &image, symbols.symbols, name, 300), 0);
	assert_int_equal(strlen(name), 299);
	assert_int_equal(elf_symbols_name(&symbols, &image, symbols.symbols, name, 4), 0);
	assert_string_equal(name, "nnn");
	elf_symbols_deinit(&symbols);
	elf_image_deinit(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_those_of_readelf),
		cmocka_unit_test(functions_are_entered_but_not_at_labels_and_cold_parts),
		cmocka_unit_test(symbols_of_files_with_very_many_sections_are_found),
		cmocka_unit_test(the_innermost_function_is_found),
		cmocka_unit_test(a_symbol_without_a_size_ends_at_the_next_function),
		cmocka_unit_test(of_several_at_one_address_the_global_function_stays),
		cmocka_unit_test(functions_may_be_far_apart),
		cmocka_unit_test(mapping_symbols_of_arm64_name_nothing),
		cmocka_unit_test(damaged_tables_are_bad),
		cmocka_unit_test(a_table_of_a_terabyte_is_not_read_to_its_end),
		cmocka_unit_test(names_from_memory_are_those_from_the_file),
		cmocka_unit_test(long_names_are_cut_to_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
