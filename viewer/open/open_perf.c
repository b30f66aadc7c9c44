/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample is a line that begins in the first column, and its frames are the indented lines behind it, innermost first:
 *
 *	comm  pid/tid [cpu] seconds: period event:
 *		address symbol+0xoffset (file)
 */
#include "viewer/open/open_perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/text.h"
#include "viewer/open/opened_frame.h"

enum {
	SHOWN_BYTES = 60,
	NUMBER_MAX_DIGITS = 18,
	/* Longer names of kernel modules are cut. */
	KERNEL_NAME_BYTES = 128,
};

struct perf_reader {
	struct opened_samples *opened;
	struct opened_mappings mappings;
	struct opened_mapping nowhere;
	struct opened_stack stack;
	size_t line_number;
	/* The sample whose frames are read; valid if has_sample is set. */
	bool has_sample;
	struct sample sample;
	uint64_t time_ns;
	uint64_t first_time_ns;
	int64_t period;
	uint32_t count_type;
	uint32_t period_type;
	bool has_period;
};

/* --- lines of samples --- */

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

/* Reads decimal digits at *@text and moves it behind them; false if there are none, or too many. */
static bool read_digits(const char **text, uint64_t *number)
{
	size_t digits = strspn(*text, "0123456789");

	if (!digits || digits > NUMBER_MAX_DIGITS)
		return false;
	*number = strtoull(*text, NULL, 10);
	*text += digits;
	return true;
}

/* "1234" or "1234/1235", and a space behind it. */
static bool read_ids(const char **text, struct sample *sample)
{
	uint64_t pid, tid;

	if (!read_digits(text, &pid) || pid >= UINT32_MAX)
		return false;
	tid = pid;
	if (**text == '/') {
		(*text)++;
		if (!read_digits(text, &tid) || tid >= UINT32_MAX)
			return false;
		sample->pid = (uint32_t)pid;
	}
	sample->tid = (uint32_t)tid;
	return **text == ' ' || **text == '\t';
}

/* "12345.678901:" */
static bool read_time(const char **text, uint64_t *time_ns)
{
	uint64_t seconds, part, scale = NS_PER_SECOND;
	const char *start;

	if (!read_digits(text, &seconds) || seconds > UINT64_MAX / NS_PER_SECOND / 2)
		return false;
	*time_ns = seconds * NS_PER_SECOND;
	if (**text == '.') {
		start = ++*text;
		if (!read_digits(text, &part) || *text - start > 9)
			return false;
		for (; start < *text; start++)
			scale /= 10;
		*time_ns += part * scale;
	}
	return *(*text)++ == ':';
}

struct perf_header {
	struct sample sample;
	size_t comm_bytes;
	bool has_time;
	uint64_t time_ns;
	bool has_period;
	uint64_t period;
	/* Empty if the line has none. */
	const char *event;
	size_t event_bytes;
};

/* Reads what follows the ids: [cpu] time: period event: */
static bool read_rest(const char *text, struct perf_header *header)
{
	const char *at = skip_blanks(text);
	uint64_t cpu;

	if (*at == '[') {
		at++;
		if (!read_digits(&at, &cpu) || *at++ != ']' || cpu >= UINT32_MAX)
			return false;
		header->sample.cpu = (uint32_t)cpu;
		at = skip_blanks(at);
	}
	text = at;
	header->has_time = read_time(&at, &header->time_ns);
	at = skip_blanks(header->has_time ? at : text);
	text = at;
	header->has_period = read_digits(&at, &header->period) && (*at == ' ' || *at == '\t');
	header->event = skip_blanks(header->has_period ? at : text);
	header->event_bytes = strcspn(header->event, " \t");
	at = skip_blanks(header->event + header->event_bytes);
	/* The line ends with the event's colon. */
	if (*at || !header->event_bytes || header->event[header->event_bytes - 1] != ':')
		return !*at && !header->event_bytes && header->has_time;
	header->event_bytes--;
	return true;
}

/* The name of a process may have spaces and digits: the first gap is taken behind which everything fits. */
static bool read_header(const char *line, struct perf_header *header)
{
	*header = (struct perf_header){ .sample = opened_sample_unknown() };
	if (*line == ' ' || *line == '\t' || *line == '#')
		return false;
	for (const char *gap = strpbrk(line, " \t"); gap; gap = strpbrk(skip_blanks(gap), " \t")) {
		const char *ids = skip_blanks(gap);

		header->comm_bytes = (size_t)(gap - line);
		if (read_ids(&ids, &header->sample) && read_rest(ids, header))
			return true;
		header->sample = opened_sample_unknown();
	}
	return false;
}

/* --- frames --- */

static bool is_kernel_file(const char *file)
{
	static const char *const others[] = { "[vdso]",	 "[vsyscall]", "[unknown]", "[heap]",
					      "[stack]", "[uprobes]",  "[anon]" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(file, others[i]))
			return false;
	return *file == '[' || text_ends_with(file, ".ko") || text_starts_with(file, "vmlinux") ||
	       text_ends_with(file, "/vmlinux");
}

/* The kernel's file as outputs name it: "[kernel.ext4]" for "[ext4]" and for a path of ext4.ko. */
static void name_kernel_file(const char *file, char name[KERNEL_NAME_BYTES])
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;

	if (text_starts_with(file, "[kernel"))
		snprintf(name, KERNEL_NAME_BYTES, "%s", file);
	else if (*file == '[')
		snprintf(name, KERNEL_NAME_BYTES, "[kernel.%s", file + 1);
	else if (text_starts_with(base, "vmlinux"))
		snprintf(name, KERNEL_NAME_BYTES, "[kernel.kallsyms]");
	else
		snprintf(name, KERNEL_NAME_BYTES, "[kernel.%.*s]", (int)strcspn(base, "."), base);
}

static bool is_perf_map(const char *file)
{
	return text_starts_with(file, "/tmp/perf-") && text_ends_with(file, ".map");
}

/* Cuts " (file)" off the end; NULL if there is none. */
static char *cut_file(char *text)
{
	char *end = strchr(text, '\0'), *open = NULL;

	if (end == text || end[-1] != ')')
		return NULL;
	/* Files may have parentheses, but not behind a space. */
	for (char *at = text; (at = strstr(at, " (")); at++)
		open = at;
	if (!open)
		return NULL;
	end[-1] = '\0';
	*open = '\0';
	return open + 2;
}

static void cut_offset(char *symbol)
{
	char *plus = strrchr(symbol, '+');

	if (plus && plus > symbol && text_starts_with(plus, "+0x") &&
	    !plus[3 + strspn(plus + 3, "0123456789abcdef")])
		*plus = '\0';
}

static int read_frame(struct perf_reader *reader, char *line)
{
	struct opened_mapping *mapping = &reader->nowhere;
	struct opened_name name = { 0 };
	char kernel_name[KERNEL_NAME_BYTES];
	const char *file;
	char *symbol, *end;
	struct frame frame;
	uint64_t address;
	int err = 0;

	line += strspn(line, " \t");
	address = strtoull(line, &end, 16);
	/* Lines of source code, of another format, and so on. */
	if (end == line || (*end != ' ' && *end != '\t') || *line == '-')
		return 0;
	symbol = end + strspn(end, " \t");
	file = cut_file(symbol);
	cut_offset(symbol);
	name.address = address;
	if (!*symbol || !strcmp(symbol, "[unknown]"))
		name.marks |= OPENED_NAMELESS;
	if (file && !strcmp(file, "inlined"))
		name.marks |= OPENED_INLINED;
	else if (file && is_kernel_file(file))
		name.marks |= OPENED_KERNEL;
	if (name.marks & OPENED_KERNEL) {
		name_kernel_file(file, kernel_name);
		file = kernel_name;
	}
	if (file && is_perf_map(file))
		name.marks |= OPENED_JIT;
	else if (file && strcmp(file, "[unknown]") && !(name.marks & OPENED_INLINED))
		err = opened_mappings_find(&reader->mappings, file, reader->opened, &mapping);
	if (err)
		return err;
	frame = opened_frame_make(mapping, FRAME_NATIVE, symbol, &name, "", 0, 0);
	frame.address = address;
	return opened_stack_push(&reader->stack, &frame);
}

/* --- samples --- */

static int finish_sample(struct perf_reader *reader)
{
	int err;

	if (!reader->has_sample)
		return 0;
	reader->has_sample = false;
	reader->sample.trace = opened_stack_finish(&reader->stack);
	if (!reader->sample.trace)
		return -ENOMEM;
	err = opened_samples_put(reader->opened, &reader->sample, reader->count_type,
				 reader->time_ns, 1);
	if (!err && reader->has_period)
		err = opened_samples_put(reader->opened, &reader->sample, reader->period_type,
					 reader->time_ns, reader->period);
	trace_unref(reader->sample.trace);
	return err;
}

/* Each event has two types: the number of its samples, and the sum of their periods. */
static int set_types(struct perf_reader *reader, const struct perf_header *header)
{
	struct profile_facts *facts = &reader->opened->facts;
	char event[128], samples[160];
	bool is_time;
	int err;

	snprintf(event, sizeof(event), "%.*s", (int)header->event_bytes, header->event);
	/* "cycles:u" is cycles in user space, "cpu-clock:ppp" one with a wanted precision. */
	event[strcspn(event, ":")] = '\0';
	is_time = text_ends_with(event, "-clock");
	snprintf(samples, sizeof(samples), "samples");
	if (facts->type_count && *event) {
		uint32_t index;

		/* The first event's samples have the plain name. */
		if (profile_facts_find_type(facts, event, &index) || index != 1)
			snprintf(samples, sizeof(samples), "samples of %s", event);
	}
	err = profile_facts_add_type(facts, samples, "count", &reader->count_type);
	if (!err)
		err = profile_facts_add_type(facts, *event ? event : "period",
					     is_time ? "nanoseconds" : "count",
					     &reader->period_type);
	return err;
}

static int begin_sample(struct perf_reader *reader, char *line, const struct perf_header *header)
{
	uint64_t start_ns = reader->opened->start_ns;
	int err = set_types(reader, header);

	line[header->comm_bytes] = '\0';
	reader->has_sample = true;
	reader->sample = header->sample;
	/* The name is the thread's: perf does not print that of the process. */
	reader->sample.process_comm = line;
	if (header->has_time && !reader->first_time_ns)
		reader->first_time_ns = header->time_ns;
	reader->time_ns = start_ns + (header->time_ns > reader->first_time_ns ?
					      header->time_ns - reader->first_time_ns :
					      0);
	reader->has_period = header->has_period && header->period;
	reader->period = (int64_t)header->period;
	return err;
}

static int read_line(struct perf_reader *reader, char *line)
{
	struct perf_header header;
	int err;

	if (*line == ' ' || *line == '\t')
		return reader->has_sample && *skip_blanks(line) ? read_frame(reader, line) : 0;
	err = finish_sample(reader);
	if (err || !*line)
		return err;
	/* Its header stands between lines without words. */
	if (*line == '#' && !line[strspn(line, "#= ")])
		return 0;
	if (*line == '#')
		return profile_facts_add_comment(&reader->opened->facts,
						 line + 1 + strspn(line + 1, "# "));
	if (!read_header(line, &header))
		return fail(-EBADMSG, "line %zu: no sample of perf script: %.*s",
			    reader->line_number,
			    (int)text_cut_length(line, strlen(line), SHOWN_BYTES), line);
	return begin_sample(reader, line, &header);
}

static int read_lines(struct perf_reader *reader, char *text, size_t count)
{
	char *end = text + count, *line_end;
	int err = 0;

	for (char *line = text; line < end && !err; line = line_end + 1) {
		char *stop;

		line_end = memchr(line, '\n', (size_t)(end - line));
		if (!line_end)
			line_end = end;
		reader->line_number++;
		for (stop = line_end;
		     stop > line && (stop[-1] == '\r' || stop[-1] == ' ' || stop[-1] == '\t');
		     stop--)
			;
		*stop = '\0';
		err = read_line(reader, line);
	}
	return err ? err : finish_sample(reader);
}

bool is_perf_script(const char *text, size_t count)
{
	const char *end = text + count, *line_end;
	bool has_header = false;
	struct perf_header header;
	char line[512];

	for (const char *at = text; at < end; at = line_end + 1) {
		size_t length;

		line_end = memchr(at, '\n', (size_t)(end - at));
		if (!line_end)
			line_end = end;
		length = (size_t)(line_end - at) < sizeof(line) ? (size_t)(line_end - at) :
								  sizeof(line) - 1;
		while (length && strchr(" \t\r", at[length - 1]))
			length--;
		if (!length || *at == '#')
			continue;
		memcpy(line, at, length);
		line[length] = '\0';
		if (has_header)
			return *line == ' ' || *line == '\t';
		has_header = read_header(line, &header);
		if (!has_header)
			return false;
	}
	return false;
}

int open_perf(char *text, size_t count, struct opened_samples *opened)
{
	struct perf_reader reader = { .opened = opened };
	int err;

	opened_samples_init(opened);
	err = opened_mapping_init_nowhere(&reader.nowhere, opened);
	if (!err)
		err = read_lines(&reader, text, count);
	if (!err)
		opened_samples_choose_first_type(opened);
	opened_mapping_deinit(&reader.nowhere);
	opened_mappings_deinit(&reader.mappings);
	opened_stack_deinit(&reader.stack);
	return err;
}
