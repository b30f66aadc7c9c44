/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libiberty delivers a name chunk by chunk, and a linkage name of some hundred bytes can stand for
 * gigabytes. The only way to stop it is to jump out of it; its memory is on the stack.
 */
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>

struct output {
	struct text_builder *text;
	jmp_buf stop;
};

static void put(const char *bytes, size_t count, void *context)
{
	struct output *output = context;

	if (output->text->failed || count > DEMANGLE_MAX_BYTES - output->text->length)
		longjmp(output->stop, 1);
	text_builder_append_bytes(output->text, bytes, count);
}

static bool run(const char *name, struct output *output)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;

	if (setjmp(output->stop))
		return false;
	/* Rust first: C++'s rules would demangle Rust's legacy names too. */
	if (rust_demangle_callback(name, options, put, output))
		return true;
	text_builder_clear(output->text);
	return cplus_demangle_v3_callback(name, options, put, output);
}

bool demangle(const char *name, struct text_builder *text)
{
	struct output output = { .text = text };
	bool is_done;

	text_builder_clear(text);
	if (name[0] != '_' || strnlen(name, DEMANGLE_MAX_BYTES) == DEMANGLE_MAX_BYTES)
		return false;
	is_done = run(name, &output) && !text->failed;
	if (!is_done)
		text_builder_clear(text);
	return is_done;
}
