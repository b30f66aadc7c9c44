/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of frames. Every string here may come from a hostile program or file. */

#include "reporter/stack_text.h"

#include "lib/model/languages.h"

/* The language of native code by its source file's name; 0 for other files. */
static uint8_t native_language(const char *file)
{
	const struct language_id *language = language_by_file(file);

	return language && language->frames == LANGUAGE_NATIVE ? language->kind : FRAME_NONE;
}

uint32_t name_frame(const struct frame *frame, struct symbol_lookup *lookup,
		    struct named_frame *names)
{
	struct symbol symbols[FRAME_MAX_NAMES];
	uint32_t count = 0, first = 0;

	if (!frame_carries_name(frame) && lookup)
		count = lookup->ops->resolve(lookup, frame->binary, frame_lookup_address(frame),
					     symbols, FRAME_MAX_NAMES);
	if (count > 1 && symbols[0].flags & SYMBOL_GENERATED &&
	    !(frame->flags & FRAME_SHOWS_GENERATED))
		first = 1;
	for (uint32_t i = first; i < count; i++)
		names[i - first] = (struct named_frame){
			.frame = frame,
			.function = symbols[i].function,
			.linkage_name = symbols[i].linkage_name,
			.file = symbols[i].file,
			.line = symbols[i].line,
			.start_line = symbols[i].start_line,
			.is_inlined = i + 1 < count || symbols[i].flags & SYMBOL_INLINED,
			.language = symbols[i].language,
			.is_location = symbols[i].flags & SYMBOL_LOCATION,
		};
	if (count)
		return count - first;
	names[0] = (struct named_frame){
		.frame = frame,
		.function = frame->function,
		.is_inlined = frame->flags & FRAME_INLINED,
		.is_approximate = frame->flags & FRAME_APPROXIMATE,
	};
	/* The field is the module for a kernel frame. */
	if (frame->kind != FRAME_KERNEL) {
		names[0].file = frame->file;
		names[0].line = frame->line;
		names[0].column = frame->column;
		names[0].start_line = frame->start_line;
	}
	if (frame->kind == FRAME_NATIVE && names[0].file)
		names[0].language = native_language(names[0].file);
	return 1;
}

/* No traits if the frame carries its name, or if no language has traits for the file. */
static uint32_t traits_of(const struct frame *frame, struct symbol_lookup *lookup)
{
	if (frame_carries_name(frame) || !frame->binary->facts || !frame->binary->facts->languages)
		return 0;
	return lookup->ops->traits(lookup, frame->binary, frame_lookup_address(frame));
}

bool frame_is_shown(struct frame *frame, const struct frame *callee, struct symbol_lookup *lookup)
{
	uint32_t traits;

	if (!lookup || !lookup->ops->traits)
		return true;
	traits = traits_of(frame, lookup);
	if (!(traits & (FUNCTION_IS_GENERATED | FUNCTION_BEGINS_GENERATED)))
		return true;
	if (callee && traits_of(callee, lookup) & FUNCTION_SHOWS_GENERATED)
		frame->flags |= FRAME_SHOWS_GENERATED;
	return !(traits & FUNCTION_IS_GENERATED) || frame->flags & FRAME_SHOWS_GENERATED;
}

bool trace_shown_frame(const struct trace *trace, uint32_t index, struct symbol_lookup *lookup,
		       struct frame *frame)
{
	struct frame callee;

	*frame = trace_frame(trace, index);
	if (!index)
		return frame_is_shown(frame, NULL, lookup);
	callee = trace_frame(trace, index - 1);
	return frame_is_shown(frame, &callee, lookup);
}

static bool is_inlined_name(const struct frame *frame)
{
	return frame->flags & FRAME_INLINED && frame_carries_name(frame);
}

void trace_shown_location(const struct trace *trace, uint32_t *index, struct symbol_lookup *lookup,
			  struct shown_location *location)
{
	bool is_shown = trace_shown_frame(trace, (*index)++, lookup, &location->frames[0]);
	struct frame caller;

	location->count = is_shown;
	while (is_shown && is_inlined_name(&location->frames[location->count - 1]) &&
	       location->count < FRAME_MAX_NAMES && *index < trace->frame_count) {
		caller = trace_frame(trace, *index);
		/* The caller may have many names, and there is only room for one per frame. */
		if (!frame_carries_name(&caller))
			break;
		location->frames[location->count++] = caller;
		(*index)++;
	}
}

uint32_t name_location(const struct shown_location *location, struct symbol_lookup *lookup,
		       struct named_frame *names)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < location->count; i++)
		count += name_frame(&location->frames[i], lookup, names + count);
	return count;
}

/* The text before +0xaddress of a frame without a function. */
static const char *module_text(const struct frame *frame)
{
	if (frame->kind == FRAME_KERNEL)
		return frame->file ? frame->file : "[kernel]";
	if (frame->binary)
		return *binary_name(frame->binary) ? binary_name(frame->binary) : "[unknown]";
	if (frame->kind == FRAME_NATIVE)
		return "[anonymous]";
	return frame->file ? frame->file : "[unknown]";
}

void append_frame_name(struct text_builder *text, const struct named_frame *name)
{
	const struct frame *frame = name->frame;

	if (frame->kind == FRAME_ERROR && frame->error == UNWIND_TRUNCATED) {
		text_builder_append(text, "[truncated]");
	} else if (frame->kind == FRAME_ERROR) {
		text_builder_format(text, "[error: %s]", unwind_error_text(frame->error));
	} else if (name->function && *name->function) {
		text_builder_append_name(text, name->function);
	} else {
		text_builder_append_name(text, module_text(frame));
		text_builder_format(text, "+0x%llx",
				    (unsigned long long)frame_lookup_address(frame));
	}
}

bool is_made_at_run_time(const struct frame *frame)
{
	return frame->kind == FRAME_NATIVE &&
	       (!frame->binary || frame->binary->executable_id == EXECUTABLE_ID_ANONYMOUS);
}

const char *doubt_suffix(const struct named_frame *name)
{
	if (name->frame->kind == FRAME_ERROR)
		return "";
	if (name->frame->flags & FRAME_GUESS)
		return "_[?]";
	return name->is_approximate && name->is_inlined ? "_[~]" : "";
}

const char *text_kind_name(uint8_t kind)
{
	static const char *const names[] = { [TEXT_PROCESS] = "process",
					     [TEXT_THREAD] = "thread",
					     [TEXT_NATIVE] = "native",
					     [TEXT_KERNEL] = "kernel",
					     [TEXT_JIT] = "jit",
					     [TEXT_ERROR] = "error",
					     [TEXT_KIND_COUNT] = "root",
#define X(kind, NAME, name, type, frames, files) [TEXT_##NAME] = #name,
					     LANGUAGES(X)
#undef X
	};

	return kind <= TEXT_KIND_COUNT ? names[kind] : "";
}

static enum text_kind kind_of(const struct named_frame *name)
{
	const struct frame *frame = name->frame;

	switch (frame->kind == FRAME_NATIVE && name->language ? name->language : frame->kind) {
	case FRAME_ERROR:
		return TEXT_ERROR;
	case FRAME_KERNEL:
		return TEXT_KERNEL;
#define X(kind, NAME, name, type, frames, files)                                                   \
	case FRAME_##NAME:                                                                         \
		return TEXT_##NAME;
		LANGUAGES(X)
#undef X
	}
	return is_made_at_run_time(frame) ? TEXT_JIT : TEXT_NATIVE;
}

struct text_trait frame_trait(const struct named_frame *name)
{
	bool is_guess = name->frame->flags & FRAME_GUESS;
	/* An approximate frame has the right method; only its line is approximate. */
	bool is_approximate = name->is_approximate && name->is_inlined;

	return (struct text_trait){
		.kind = kind_of(name),
		.flags = (name->is_inlined ? TEXT_INLINED : 0) | (is_guess ? TEXT_GUESS : 0) |
			 (is_approximate ? TEXT_APPROXIMATE : 0),
	};
}

const char *frame_mark(const struct named_frame *name, bool with_lines)
{
	const struct frame *frame = name->frame;

	if (frame->kind == FRAME_ERROR || *doubt_suffix(name))
		return doubt_suffix(name);
	if (name->is_approximate && with_lines)
		return "_[~]";
	if (frame->kind == FRAME_KERNEL)
		return "_[k]";
	if (name->is_inlined)
		return "_[i]";
	return is_made_at_run_time(frame) ? "_[j]" : "";
}

/* `;` separates the frames of a line. */
static void replace_semicolons(struct text_builder *text, size_t from)
{
	for (size_t i = from; i < text->length; i++) {
		if (text->text[i] == ';')
			text->text[i] = ':';
	}
}

static void append_line(struct text_builder *text, const struct named_frame *name)
{
	if (!name->file || !*name->file)
		return;
	text_builder_append(text, " (");
	text_builder_append_name(text, name->file);
	if (name->line)
		text_builder_format(text, ":%u", name->line);
	text_builder_append(text, ")");
}

void append_frame_text(struct text_builder *text, const struct named_frame *name, bool with_lines)
{
	size_t from = text->length;

	append_frame_name(text, name);
	if (with_lines)
		append_line(text, name);
	replace_semicolons(text, from);
	text_builder_append(text, frame_mark(name, with_lines));
}

void append_comm_text(struct text_builder *text, const char *comm)
{
	size_t from = text->length;

	text_builder_append_name(text, *comm ? comm : "[unknown]");
	replace_semicolons(text, from);
}
