/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/ruby/ruby_probe.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/elf_dynamic.h"

struct prober {
	const struct elf_image *image;
	struct elf_dynamic dynamic;
};

/* Finds the exported function or object @name; -ENOENT. */
static int find_symbol(const struct prober *prober, const char *name,
		       struct elf_dynamic_symbol *symbol)
{
	return elf_dynamic_find(&prober->dynamic, prober->image, name, symbol);
}

static uint64_t find_address(const struct prober *prober, const char *name)
{
	struct elf_dynamic_symbol symbol;

	return find_symbol(prober, name, &symbol) ? 0 : symbol.address;
}

static int find_version(const struct prober *prober, struct ruby_file *file)
{
	unsigned int major, minor, patch;
	int length = 0;

	file->version_address = find_address(prober, "ruby_version");
	if (elf_image_read_address(prober->image, file->version_address, file->version_text,
				   sizeof(file->version_text)))
		return fail(-EBADMSG, "ruby_version lies nowhere");
	file->version_text[sizeof(file->version_text) - 1] = '\0';
	if (sscanf(file->version_text, "%2u.%2u.%3u%n", &major, &minor, &patch, &length) != 3 ||
	    file->version_text[length])
		return fail(-EOPNOTSUPP, "Ruby of a version that it does not tell");
	snprintf(file->file.version, sizeof(file->file.version), "Ruby %u.%u", major, minor);
	file->layout = ruby_layout_of((uint16_t)RUBY_VERSION(major, minor));
	if (!file->layout)
		return fail(-EOPNOTSUPP, "%s", file->file.version);
	return 0;
}

/*
 * Finds the loop by its symbol if it is exported, else by the final jump of rb_iseq_eval(). Callers reach the loop
 * directly or through the linker's stub.
 */
static int find_loop(const struct prober *prober, struct ruby_file *file, struct ruby_loop *loop)
{
	uint64_t address = find_address(prober, "rb_vm_exec"), called;
	struct elf_dynamic_symbol symbol;
	struct code_range eval;
	int err = find_symbol(prober, "rb_iseq_eval", &symbol);

	if (err)
		return err;
	eval = (struct code_range){ symbol.address, symbol.address + symbol.size };
	err = ruby_loop_follow_jump(prober->image, eval, &called);
	if (!err)
		err = ruby_loop_find(prober->image, address ? address : called, loop);
	if (!err)
		err = ruby_loop_find_entering(prober->image, called, eval, file->entering);
	return err;
}

/* Checks that rb_iseq_label() loads a sequence's body and its label at the offsets of the layout. */
static int check_layout(const struct prober *prober, const struct ruby_layout *layout)
{
	const int64_t expected[] = { layout->sequence_body, layout->body_label };
	uint64_t address = find_address(prober, "rb_iseq_label");

	if (!address || !ruby_loop_has_loads(prober->image, address, expected, 2))
		return fail(-EOPNOTSUPP, "rb_iseq_label() is not as in Ruby %u.%u",
			    layout->version >> 8, layout->version & 0xff);
	return 0;
}

static int fill(const struct prober *prober, struct ruby_file *file)
{
	struct ruby_loop loop;
	int err;

	file->machine = prober->image->machine;
	err = find_version(prober, file);
	if (err)
		return err;
	if (file->machine != EM_X86_64)
		return fail(-EOPNOTSUPP, "%s for another machine than x86-64", file->file.version);
	err = check_layout(prober, file->layout);
	if (!err)
		err = find_loop(prober, file, &loop);
	if (!err)
		err = ruby_loop_check(prober->image, &loop, file->layout);
	if (!err)
		err = ruby_loop_find_jump_buffer(prober->image, &loop, file->layout,
						 &file->jump_buffer);
	if (!err)
		err = ruby_loop_find_returning(prober->image, &loop, file->layout, file->returning);
	if (!err)
		err = ruby_loop_find_code_returns(prober->image, &loop, file->code_returns);
	if (!err)
		err = ruby_loop_find_symbols(prober->image, find_address(prober, "rb_id2str"),
					     &file->symbols);
	if (!err && file->layout->thread_native)
		err = ruby_loop_find_context(prober->image,
					     find_address(prober, "rb_thread_current"),
					     file->layout, &file->context);
	if (err)
		return err;
	/* Without it there are no frames of the garbage collector. */
	if (ruby_loop_find_collector(prober->image, find_address(prober, "rb_during_gc"),
				     &file->collector))
		file->collector.vm.address = 0;
	file->saves_registers = ruby_loop_saves_registers(
		prober->image, find_address(prober, "coroutine_transfer"));
	file->thread_function = find_address(prober, "rb_thread_current");
	file->loop = (struct ruby_code_range){ .start = (uint32_t)loop.function.start,
					       .end = (uint32_t)loop.function.end };
	file->core = (struct ruby_code_range){ .start = (uint32_t)loop.core.start,
					       .end = (uint32_t)loop.core.end };
	file->file.range_count = loop.range_count;
	memcpy(file->file.ranges, loop.ranges, sizeof(loop.ranges));
	return 0;
}

int ruby_probe(const struct language *language, const struct elf_image *image,
	       struct ruby_file **file)
{
	_cleanup_(free_pointer) struct ruby_file *made = NULL;
	struct prober prober = { .image = image };
	int err;

	/* A file with damaged tables is not reported here. */
	if (elf_dynamic_init(&prober.dynamic, image) || !find_address(&prober, "ruby_version") ||
	    !find_address(&prober, "rb_iseq_eval") || !find_address(&prober, "rb_thread_current"))
		return -ENOENT;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->file.language = language;
	err = fill(&prober, made);
	if (err)
		return err;
	*file = take_pointer(made);
	return 0;
}

void ruby_file_release(struct ruby_file *file)
{
	free(file);
}
