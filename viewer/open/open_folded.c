/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/open_folded.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/text.h"
#include "viewer/open/opened_frame.h"

enum {
	COUNT_MAX_DIGITS = 19,
	/* So much of a line is in an error's text. */
	SHOWN_BYTES = 60,
	SHARE_MAX_DIGITS = 3,
	/* Names of processes as the kernel has them. */
	COMM_MAX_BYTES = 15,
	/* The second column of a comparison is so much later than the first. */
	COLUMN_NS = NS_PER_SECOND,
};

/* The form of all lines. */
struct folded_form {
	/* Most digits after a point. */
	uint8_t decimals;
	/* Each line has two numbers: a comparison. */
	bool is_comparison;
	/* The first text of a line is a function, and not the name of a process. */
	bool begins_with_functions;
};

struct folded_reader {
	struct opened_samples *opened;
	struct folded_form form;
	uint32_t type;
	size_t line_number;
	struct opened_stack stack;
	/* The files of frames without a name. */
	struct opened_mappings mappings;
	/* The mapping of all other frames. */
	struct opened_mapping nowhere;
};

static int push_frame(struct folded_reader *reader, char *text)
{
	struct opened_name name = opened_name_parse(text);
	struct opened_mapping *mapping = &reader->nowhere;
	static char unknown[] = "[unknown]";
	const char *file;
	struct frame frame;
	uint32_t line;
	int err = 0;

	opened_name_cut_line(text, &file, &line);
	/* Without lines, only inlined functions have this mark. */
	if (!file && name.marks & OPENED_APPROXIMATE)
		name.marks |= OPENED_INLINED;
	if (opened_name_cut_address(&name, text))
		err = opened_mappings_find(&reader->mappings, text, reader->opened, &mapping);
	if (err)
		return err;
	if (!*text && !(name.marks & OPENED_NAMELESS))
		text = unknown;
	frame = opened_frame_make(mapping, opened_kind_of_file(file), text, &name, file ? file : "",
				  line, 0);
	return opened_stack_push(&reader->stack, &frame);
}

/* --- numbers --- */

/* Reads "-12.50" as 1250 with 2 decimals. -EINVAL if @text is no such number, -E2BIG if it is too large. */
static int read_number(const char *text, int64_t *number, uint8_t *decimals)
{
	bool is_negative = *text == '-';
	const char *digits = text + is_negative;
	size_t whole = strspn(digits, "0123456789"), part = 0, used;
	uint64_t value = 0;

	if (digits[whole] == '.')
		part = strspn(digits + whole + 1, "0123456789");
	if (!whole || digits[whole + (digits[whole] == '.') + part])
		return -EINVAL;
	/* Zeros at the end and further decimals say nothing more. */
	used = part < VALUE_DECIMALS_MAX ? part : VALUE_DECIMALS_MAX;
	while (used && digits[whole + used] == '0')
		used--;
	if (whole + used > COUNT_MAX_DIGITS)
		return -E2BIG;
	for (size_t i = 0; i < whole; i++)
		value = value * 10 + (uint64_t)(digits[i] - '0');
	for (size_t i = 0; i < used; i++)
		value = value * 10 + (uint64_t)(digits[whole + 1 + i] - '0');
	if (value > INT64_MAX)
		return -E2BIG;
	*number = is_negative ? -(int64_t)value : (int64_t)value;
	*decimals = (uint8_t)used;
	return 0;
}

/* The space or tab before the last word of @line. */
static char *last_gap(const char *line, const char *end)
{
	while (end > line && end[-1] != ' ' && end[-1] != '\t')
		end--;
	return end > line ? (char *)end - 1 : NULL;
}

/* Cuts the number at the end of the line and the spaces before it. -EINVAL if there is none, -E2BIG if it is too large. */
static int cut_number(char *line, int64_t *number, uint8_t *decimals)
{
	char *gap = last_gap(line, strchr(line, '\0'));
	int err = gap ? read_number(gap + 1, number, decimals) : -EINVAL;

	if (err)
		return err;
	while (gap > line && (gap[-1] == ' ' || gap[-1] == '\t'))
		gap--;
	*gap = '\0';
	return 0;
}

/* @number with as many decimals as all others; false if that is too large. */
static bool scale_number(const struct folded_reader *reader, uint8_t decimals, int64_t *number)
{
	for (; decimals < reader->form.decimals; decimals++)
		if (__builtin_mul_overflow(*number, 10, number))
			return false;
	return true;
}

/* --- lines --- */

static int read_stack(struct folded_reader *reader, char *line, const int64_t *numbers)
{
	struct sample sample = opened_sample_unknown();
	uint64_t time_ns = reader->opened->start_ns;
	char *end, *semicolon;
	int err = 0;

	/* The file has stacks root first, we have them leaf first. */
	for (end = strchr(line, '\0'); !err && (semicolon = memrchr(line, ';', end - line));
	     end = semicolon) {
		*semicolon = '\0';
		err = push_frame(reader, semicolon + 1);
	}
	if (err)
		return err;
	if (reader->form.begins_with_functions)
		err = push_frame(reader, line);
	else
		sample.process_comm = line;
	if (err)
		return err;
	sample.trace = opened_stack_finish(&reader->stack);
	if (!sample.trace)
		return -ENOMEM;
	for (int i = 0; i <= reader->form.is_comparison && !err; i++)
		err = opened_samples_put(reader->opened, &sample, reader->type,
					 time_ns + (uint64_t)i * COLUMN_NS, numbers[i]);
	trace_unref(sample.trace);
	return err;
}

static int refuse_line(const struct folded_reader *reader, const char *why, const char *line)
{
	int shown = (int)text_cut_length(line, strlen(line), SHOWN_BYTES);

	return fail(-EBADMSG, "line %zu: %s: %.*s%s", reader->line_number, why, shown, line,
		    line[shown] ? "..." : "");
}

static int read_line(struct folded_reader *reader, char *line)
{
	int64_t numbers[2] = { 0 };
	uint8_t decimals[2] = { 0 };
	bool is_comparison = reader->form.is_comparison;
	int err = cut_number(line, &numbers[is_comparison], &decimals[is_comparison]);

	if (err)
		return refuse_line(
			reader, err == -E2BIG ? "the number is too large" : "no number at the end",
			line);
	if (is_comparison)
		cut_number(line, &numbers[0], &decimals[0]);
	for (int i = 0; i <= is_comparison; i++)
		if (!scale_number(reader, decimals[i], &numbers[i]))
			return refuse_line(reader, "the number is too large", line);
	return read_stack(reader, line, numbers);
}

/* Calls @take for each line that is neither blank nor a comment, without its line end. */
static int each_line(struct folded_reader *reader, char *text, size_t count,
		     int (*take)(struct folded_reader *reader, char *line))
{
	char *end = text + count, *line_end;
	int err = 0;

	reader->line_number = 0;
	for (char *line = text; line < end && !err; line = line_end + 1) {
		char *stop;
		char stopped_at;

		line_end = memchr(line, '\n', end - line);
		if (!line_end)
			line_end = end;
		reader->line_number++;
		for (stop = line_end;
		     stop > line && (stop[-1] == '\r' || stop[-1] == ' ' || stop[-1] == '\t');
		     stop--)
			;
		stopped_at = *stop;
		*stop = '\0';
		if (strlen(line) != (size_t)(stop - line))
			return fail(-EBADMSG, "line %zu is no text", reader->line_number);
		if (*line && *line != '#')
			err = take(reader, line);
		*stop = stopped_at;
	}
	return err;
}

/* --- the form of all lines --- */

/* Functions from which a thread begins, and texts that only stand below a process. */
static const char *const entries[] = {
	"_start",	"start_thread",	     "clone",	       "__clone",	 "clone3",
	"__clone3",	"thread_start",	     "runtime.goexit", "runtime.mstart", "runtime.rt0_go",
	"[unknown]",	"[error: ",	     "[truncated]",    "ret_from_fork",	 "entry_SYSCALL_64",
	"__libc_start", "secondary_startup", "do_syscall_64",
};

/* Functions that are seldom the name of a process. */
static const char *const functions[] = { "main", "<module>", "[unknown]" };

static bool begins_like_an_entry(const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (strlen(entries[i]) <= length && text_starts_with(text, entries[i]))
			return true;
	return false;
}

static bool is_function(const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (strlen(functions[i]) == length && !strncmp(text, functions[i], length))
			return true;
	/* Other tools append the pid and the tid to the name: "java-1234/1235". */
	return memchr(text, '(', length) || memchr(text, '`', length) ||
	       (length > 3 && text[length - 1] == ']' && text[length - 3] == '[' &&
		text[length - 4] == '_') ||
	       memmem(text, length, "::", 2) ||
	       (length > COMM_MAX_BYTES && !strspn(text + length - 1, "0123456789")) ||
	       begins_like_an_entry(text, length);
}

struct folded_survey {
	struct folded_reader reader;
	size_t lines;
	size_t comparisons;
	bool has_process;
	bool has_function;
};

static int survey_line(struct folded_reader *reader, char *line)
{
	struct folded_survey *survey = (struct folded_survey *)reader;
	char *gap = last_gap(line, strchr(line, '\0')), *other_gap, *semicolon, cut;
	uint8_t decimals = 0;
	int64_t number;

	survey->lines++;
	if (!gap || read_number(gap + 1, &number, &decimals))
		return 0;
	while (gap > line && (gap[-1] == ' ' || gap[-1] == '\t'))
		gap--;
	if (decimals > reader->form.decimals)
		reader->form.decimals = decimals;
	cut = *gap;
	*gap = '\0';
	other_gap = last_gap(line, gap);
	if (other_gap && !read_number(other_gap + 1, &number, &decimals)) {
		survey->comparisons++;
		if (decimals > reader->form.decimals)
			reader->form.decimals = decimals;
	}
	semicolon = strchr(line, ';');
	if (semicolon) {
		survey->has_process |= begins_like_an_entry(semicolon + 1, strlen(semicolon + 1));
		survey->has_function |= is_function(line, (size_t)(semicolon - line));
	} else {
		/* A process has functions. */
		survey->has_function = true;
	}
	*gap = cut;
	return 0;
}

_Static_assert(offsetof(struct folded_survey, reader) == 0, "survey_line() casts");

static int survey_form(char *text, size_t count, struct folded_form *form)
{
	struct folded_survey survey = { 0 };
	int err = each_line(&survey.reader, text, count, survey_line);

	*form = survey.reader.form;
	form->is_comparison = survey.lines && survey.comparisons == survey.lines;
	form->begins_with_functions = survey.has_function && !survey.has_process;
	return err;
}

static int read_comments(struct folded_reader *reader, char *text, size_t count)
{
	char *end = text + count, *line_end;
	int err = 0;

	for (char *line = text; line < end && !err; line = line_end + 1) {
		size_t length;

		line_end = memchr(line, '\n', end - line);
		if (!line_end)
			line_end = end;
		if (*line != '#')
			continue;
		length = strcspn(line, "\r\n");
		{
			char cut = line[length];

			line[length] = '\0';
			err = profile_facts_add_comment(&reader->opened->facts,
							line + 1 + strspn(line + 1, "# "));
			line[length] = cut;
		}
	}
	return err;
}

static void folded_reader_deinit(struct folded_reader *reader)
{
	opened_mappings_deinit(&reader->mappings);
	opened_mapping_deinit(&reader->nowhere);
	opened_stack_deinit(&reader->stack);
}

static int add_parts(struct opened_samples *opened)
{
	uint64_t before_ns = opened->start_ns, after_ns = opened->start_ns + COLUMN_NS;
	int err = profile_facts_add_part(&opened->facts, "first column", before_ns, before_ns);

	return err ? err :
		     profile_facts_add_part(&opened->facts, "second column", after_ns, after_ns);
}

static int add_type(struct folded_reader *reader, const char *type, const char *unit)
{
	int err = opened_samples_add_type(reader->opened, type, unit, reader->form.decimals,
					  &reader->type);

	/* Files that were opened before may have more. */
	if (!err)
		reader->form.decimals = reader->opened->facts.types[reader->type].decimals;
	return err;
}

static int read_stacks(char *text, size_t count, const char *type, const char *unit,
		       struct opened_samples *opened)
{
	struct folded_reader reader = { .opened = opened };
	int err;

	opened_samples_init(opened);
	err = opened_mapping_init_nowhere(&reader.nowhere, opened);
	if (!err)
		err = survey_form(text, count, &reader.form);
	if (!err)
		err = add_type(&reader, type, unit);
	if (!err)
		err = read_comments(&reader, text, count);
	if (!err)
		err = each_line(&reader, text, count, read_line);
	if (!err && reader.form.is_comparison)
		err = add_parts(opened);
	folded_reader_deinit(&reader);
	return err;
}

int open_folded(char *text, size_t count, struct opened_samples *opened)
{
	return read_stacks(text, count, "samples", "count", opened);
}

/* --- the stack table --- */

/* The length of "41.2" in "41.2% comm;main"; 0 for other lines. */
static size_t share_length(const char *line)
{
	size_t whole = strspn(line, "0123456789");

	return whole && whole <= SHARE_MAX_DIGITS && line[whole] == '.' && line[whole + 1] >= '0' &&
			       line[whole + 1] <= '9' && line[whole + 2] == '%' &&
			       line[whole + 3] == ' ' ?
		       whole + 2 :
		       0;
}

bool is_stack_table(const char *text)
{
	return share_length(text);
}

/* Makes "41.2% comm;main" the folded "comm;main 41.2 ", in place. */
static void turn_line(char *line, char *end)
{
	char share[SHARE_MAX_DIGITS + 2];
	size_t length = share_length(line), stack_length;

	if (!length)
		return;
	if (end[-1] == '\r')
		*--end = ' ';
	memcpy(share, line, length);
	stack_length = (size_t)(end - line) - length - 2;
	memmove(line, line + length + 2, stack_length);
	line[stack_length] = ' ';
	memcpy(line + stack_length + 1, share, length);
	line[stack_length + 1 + length] = ' ';
}

int open_stack_table(char *text, size_t count, struct opened_samples *opened)
{
	char *end = text + count, *line_end;

	for (char *line = text; line < end; line = line_end + 1) {
		line_end = memchr(line, '\n', (size_t)(end - line));
		if (!line_end)
			line_end = end;
		turn_line(line, line_end);
	}
	return read_stacks(text, count, "share", "percent", opened);
}
