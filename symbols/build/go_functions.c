/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/build/go_functions.h"

#include <elf.h>
#include <errno.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/text_builder.h"
#include "lib/elf/go_frames.h"

const struct elf_section *go_functions_section(const struct elf_image *image)
{
	const struct elf_section *section;

	if (elf_image_find_section_of_type(image, SHT_SYMTAB))
		return NULL;
	section = elf_image_find_section(image, ".gopclntab");
	if (!section)
		section = elf_image_find_section(image, ".data.rel.ro.gopclntab");
	return section && section->type != SHT_NOBITS ? section : NULL;
}

static int add_function(struct go_table *table, const struct go_function *function,
			struct text_builder *name, struct interval_vector *intervals,
			struct string_table *strings)
{
	struct interval interval = { .start = function->start, .end = function->end };
	int err;

	text_builder_clear(name);
	err = go_frames_append_function(table, function, name);
	/* A name that is too long is skipped. */
	if (err == -E2BIG)
		return 0;
	if (!err && name->failed)
		err = fail(-ENOMEM, "no memory for names of Go");
	if (err || !name->length)
		return err;
	err = string_table_add(strings, text_builder_text(name), name->length, &interval.value);
	if (!err && interval_vector_push(intervals, interval))
		err = fail(-ENOMEM, "no memory for functions of Go");
	return err;
}

static int add_functions(struct go_table *table, struct interval_vector *intervals,
			 struct string_table *strings)
{
	_cleanup_(text_builder_deinit) struct text_builder name = { 0 };

	for (uint32_t i = 0; i < table->header.function_count; i++) {
		struct go_function function;
		int err = go_function_read(table, i, &function);

		if (!err)
			err = add_function(table, &function, &name, intervals, strings);
		if (err == -ENOMEM || err == -E2BIG)
			return err;
	}
	return 0;
}

int go_functions_add(const struct elf_image *image, struct interval_vector *intervals,
		     struct string_table *strings)
{
	struct go_table table;
	int err;

	if (!go_functions_section(image))
		return 0;
	err = go_table_init(&table, image);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = add_functions(&table, intervals, strings);
	go_table_deinit(&table);
	return err;
}
