/* SPDX-License-Identifier: Apache-2.0 */
/** A table of Go that several tests read, in all versions. */
#ifndef LIB_ELF_TESTS_GO_TABLE_EXAMPLE_H
#define LIB_ELF_TESTS_GO_TABLE_EXAMPLE_H

#include "lib/elf/tests/go_table_builder.h"

/**
 * Four functions: main.leaf; main.outer, with main.middle inlined and main.inner[int] in that;
 * main.(*wrapped).run, a wrapper with main.run inlined; and one in assembly without tables.
 */
static inline void made_go_example(struct made_go *go, enum go_table_version version,
				   uint32_t minor)
{
	static const struct made_value leaf_sizes[] = { { 0, 4 }, { 24, 60 }, { 0, 64 }, { 0, 0 } },
				       leaf_files[] = { { 1, 64 }, { 0, 0 } },
				       leaf_lines[] = { { 10, 8 }, { 12, 40 }, { 9, 64 }, { 0, 0 } };
	static const struct made_value
		outer_sizes[] = { { 0, 8 }, { 100000, 1000 }, { 0, 0 } },
		outer_files[] = { { 1, 204 }, { 2, 400 }, { 1, 1000 }, { 0, 0 } },
		outer_lines[] = { { 100, 100 }, { 101, 104 },  { 50, 200 }, { 51, 204 },
				  { 7, 400 },	{ 300, 1000 }, { 0, 0 } },
		outer_calls[] = { { -1, 104 }, { 0, 204 }, { 1, 400 }, { -1, 1000 }, { 0, 0 } };
	/* The positions of the calls are those of the instructions at 100 and 200. */
	static const struct made_call outer_tree[] = {
		{ "main.middle", 100, 0, 49, -1, 1, 101 },
		{ "main.inner[go.shape.int]", 200, 0, 6, 0, 1, 51 },
	};
	static const struct made_value wrapper_calls[] = { { -1, 8 }, { 0, 64 }, { 0, 0 } };
	static struct made_call wrapper_tree[] = { { "main.run", 0, 0, 8, -1, 2, 1 } };
	static struct made_function functions[] = {
		{ .name = "main.leaf",
		  .bytes = 64,
		  .sizes = leaf_sizes,
		  .files = leaf_files,
		  .lines = leaf_lines,
		  .start_line = 9 },
		{ .name = "main.outer",
		  .bytes = 1008,
		  .sizes = outer_sizes,
		  .files = outer_files,
		  .lines = outer_lines,
		  .calls = outer_calls,
		  .tree = outer_tree,
		  .tree_count = 2,
		  .start_line = 99 },
		{ .name = "main.(*wrapped).run",
		  .bytes = 64,
		  .sizes = leaf_sizes,
		  .files = leaf_files,
		  .lines = leaf_lines,
		  .calls = wrapper_calls,
		  .tree = wrapper_tree,
		  .tree_count = 1,
		  .start_line = 1 },
		{ .name = "runtime.assembly", .bytes = 64, .flags = 2 | 4 },
	};

	memset(go, 0, sizeof(*go));
	functions[2].id = minor >= 25 ? 23 :
			  minor >= 22 ? 22 :
			  minor >= 18 ? 21 :
			  minor >= 14 ? 22 :
			  minor >= 12 ? 20 :
					0;
	go->version = version;
	go->minor = minor;
	go->machine = EM_X86_64;
	go->functions = functions;
	go->function_count = 4;
	go->section_name = ".gopclntab";
	go->files[0] = "first.go";
	go->files[1] = "/src/main.go";
	go->files[2] = "/src/inner.go";
	if (version == GO_TABLE_1_2) {
		/* Numbers start with 1 there. */
		go->files[0] = "/src/main.go";
		go->files[1] = "/src/inner.go";
		go->files[2] = NULL;
	}
}

/** All versions of the header, with a Go version of each. */
static const struct made_go_version {
	enum go_table_version version;
	uint32_t minor;
} made_go_versions[] = {
	{ GO_TABLE_1_2, 9 },   { GO_TABLE_1_2, 12 },  { GO_TABLE_1_2, 13 },  { GO_TABLE_1_2, 15 },
	{ GO_TABLE_1_16, 16 }, { GO_TABLE_1_16, 17 }, { GO_TABLE_1_18, 18 }, { GO_TABLE_1_18, 19 },
	{ GO_TABLE_1_20, 20 }, { GO_TABLE_1_20, 25 }, { GO_TABLE_1_20, 26 }, { GO_TABLE_1_20, 27 },
};

enum { MADE_GO_VERSIONS = sizeof(made_go_versions) / sizeof(made_go_versions[0]) };

#endif
