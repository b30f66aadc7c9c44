/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/opened_frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/hash128.h"
#include "lib/base/text.h"
#include "lib/model/languages.h"

/* The path of an unknown file. */
#define NOWHERE "[unknown]"
/* The agent's own ids are smaller. */
#define OPENED_EXECUTABLE_IDS (1ULL << 62)

enum {
	ADDRESS_MAX_DIGITS = 16,
	LINE_MAX_DIGITS = 9,
	TEXT_MAX_BYTES = 4096,
};

static const struct {
	const char *text;
	uint8_t mark;
} suffixes[] = {
	{ "_[?]", OPENED_GUESS },  { "_[~]", OPENED_APPROXIMATE }, { "_[i]", OPENED_INLINED },
	{ "_[k]", OPENED_KERNEL }, { "_[j]", OPENED_JIT },
};

static uint8_t cut_suffix(char *text)
{
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (text_ends_with(text, suffixes[i].text)) {
			text[strlen(text) - strlen(suffixes[i].text)] = '\0';
			return suffixes[i].mark;
		}
	}
	return 0;
}

static bool parse_error(const char *text, uint8_t *error)
{
	static const char start[] = "[error: ";
	size_t length = strlen(text);

	if (!strcmp(text, "[truncated]")) {
		*error = UNWIND_TRUNCATED;
		return true;
	}
	if (!text_starts_with(text, start) || text[length - 1] != ']')
		return false;
	for (uint8_t i = 1; i < UNWIND_ERROR_COUNT; i++) {
		const char *reason = unwind_error_text(i);

		if (strlen(reason) + strlen(start) + 1 == length &&
		    !strncmp(text + strlen(start), reason, strlen(reason))) {
			*error = i;
			return true;
		}
	}
	return false;
}

/* The plus of "libc.so.6+0x26d70"; NULL if @text does not end as the outputs write an address. */
static const char *find_address(const char *text, uint64_t *address)
{
	const char *plus = strrchr(text, '+');
	size_t digits;

	if (!plus || plus == text || plus[1] != '0' || plus[2] != 'x')
		return NULL;
	digits = strspn(plus + 3, "0123456789abcdef");
	if (!digits || digits > ADDRESS_MAX_DIGITS || plus[3 + digits] ||
	    (digits > 1 && plus[3] == '0'))
		return NULL;
	*address = strtoull(plus + 3, NULL, 16);
	return plus;
}

static bool texts_equal(const char *text, size_t length, const char *other)
{
	return strlen(other) == length && !strncmp(text, other, length);
}

/* True for a text that stands for @mapping before the address of a frame without a name. */
static bool is_module_text(const struct opened_mapping *mapping, const char *text, size_t length)
{
	const char *name;

	switch (mapping->kind) {
	case OPENED_ANONYMOUS:
		return texts_equal(text, length, "[anonymous]");
	case OPENED_IN_KERNEL:
		/* Our outputs write the second if they do not know the module. */
		return texts_equal(text, length, mapping->module) ||
		       texts_equal(text, length, "[kernel]") ||
		       texts_equal(text, length, mapping->binary->path);
	default:
		name = binary_name(mapping->binary);
		return texts_equal(text, length, *name ? name : NOWHERE) ||
		       texts_equal(text, length, mapping->binary->path);
	}
}

void opened_name_find_address(struct opened_name *name, const char *text,
			      const struct opened_mapping *mapping)
{
	uint64_t address;
	const char *plus = name->marks & OPENED_ERROR ? NULL : find_address(text, &address);

	if (!plus || !is_module_text(mapping, text, (size_t)(plus - text)))
		return;
	name->marks |= OPENED_NAMELESS;
	name->address = address;
}

bool opened_name_cut_address(struct opened_name *name, char *text)
{
	uint64_t address;
	const char *plus = name->marks & OPENED_ERROR ? NULL : find_address(text, &address);

	/* No file's name, but that of a function or a class, has one of these. */
	if (!plus || strcspn(text, "$()<>: ,") < (size_t)(plus - text))
		return false;
	text[plus - text] = '\0';
	name->marks |= OPENED_NAMELESS;
	name->address = address;
	return true;
}

struct opened_name opened_name_parse(char *text)
{
	struct opened_name name = { .marks = cut_suffix(text) };

	if (parse_error(text, &name.error))
		name.marks |= OPENED_ERROR;
	return name;
}

/* True for a path, perhaps with a line: it has at least a dot or a slash, as source files have. */
static bool is_location(const char *text, size_t length)
{
	return memchr(text, '.', length) || memchr(text, '/', length);
}

void opened_name_cut_line(char *text, const char **file, uint32_t *line)
{
	size_t length = strlen(text), digits = 0;
	char *open, *colon;

	*file = NULL;
	*line = 0;
	if (!length || text[length - 1] != ')')
		return;
	open = strrchr(text, '(');
	if (!open || open < text + 2 || open[-1] != ' ' ||
	    !is_location(open + 1, text + length - open - 2))
		return;
	text[length - 1] = '\0';
	open[-1] = '\0';
	*file = open + 1;
	colon = strrchr(open + 1, ':');
	if (colon)
		digits = strspn(colon + 1, "0123456789");
	if (digits && digits <= LINE_MAX_DIGITS && !colon[1 + digits]) {
		*line = strtoul(colon + 1, NULL, 10);
		*colon = '\0';
	}
}

int opened_names_init(struct opened_names *names, char **strings, size_t count)
{
	*names = (struct opened_names){
		.strings = strings,
		.count = count,
		.names = calloc(count ? count : 1, sizeof(*names->names)),
	};
	if (!names->names)
		return -ENOMEM;
	/* Each user of a string copies it, so they are cut. */
	for (size_t i = 0; i < count; i++)
		if (strnlen(strings[i], TEXT_MAX_BYTES + 1) > TEXT_MAX_BYTES)
			strings[i][text_cut_length(strings[i], TEXT_MAX_BYTES + 1, TEXT_MAX_BYTES)] =
				'\0';
	return 0;
}

void opened_names_deinit(struct opened_names *names)
{
	free(names->names);
}

const char *opened_names_text(const struct opened_names *names, uint64_t index)
{
	return index < names->count ? names->strings[index] : "";
}

const char *opened_names_name(struct opened_names *names, uint64_t index, struct opened_name *name)
{
	char *text;

	*name = (struct opened_name){ 0 };
	if (index >= names->count)
		return "";
	text = names->strings[index];
	if (!(names->names[index].marks & OPENED_PARSED)) {
		names->names[index] = opened_name_parse(text);
		names->names[index].marks |= OPENED_PARSED;
	}
	*name = names->names[index];
	return text;
}

uint8_t opened_kind_of_file(const char *file)
{
	const struct language_id *language = file ? language_by_file(file) : NULL;

	return language && language->frames != LANGUAGE_NATIVE ? language->kind : FRAME_NATIVE;
}

static enum opened_mapping_kind kind_of(const char *path)
{
	if (!*path || !strcmp(path, "[anonymous]") || text_starts_with(path, "//anon"))
		return OPENED_ANONYMOUS;
	if (text_starts_with(path, "[kernel") || !strcmp(path, "vmlinux"))
		return OPENED_IN_KERNEL;
	return OPENED_FILE;
}

/* "[kernel.ext4]" -> "ext4"; the caller frees it. */
static char *module_of(const char *path)
{
	const char *dot = strchr(path, '.'), *end = path + strlen(path) - 1;

	if (*path != '[' || !dot || *end != ']')
		return strdup(path);
	return text_starts_with(dot, ".kallsyms]") ? strdup("vmlinux") :
						     strndup(dot + 1, (size_t)(end - dot) - 1);
}

static uint64_t hash_values(const struct binary *values)
{
	struct {
		uint64_t path;
		uint64_t build_id;
		uint64_t start;
		struct file_id file_id;
	} key = {
		.path = hash64_bytes(values->path, strlen(values->path)),
		.build_id = hash64_bytes(values->build_id, values->build_id_bytes),
		.start = values->memory_start,
		.file_id = values->file_id,
	};

	return hash64_bytes(&key, sizeof(key)) | OPENED_EXECUTABLE_IDS;
}

int opened_mapping_init_nowhere(struct opened_mapping *mapping, struct opened_samples *opened)
{
	return opened_mapping_init(mapping, &(struct binary){ .path = (char *)NOWHERE }, opened);
}

int opened_mapping_init(struct opened_mapping *mapping, const struct binary *values,
			struct opened_samples *opened)
{
	struct binary complete = *values;
	int err;

	*mapping = (struct opened_mapping){ .kind = kind_of(values->path) };
	if (mapping->kind == OPENED_ANONYMOUS)
		return 0;
	complete.fd = -1;
	complete.is_elsewhere = true;
	complete.is_kernel = mapping->kind == OPENED_IN_KERNEL;
	/* Also where it was written as a file's name. */
	complete.is_nowhere = !strcmp(values->path, NOWHERE);
	complete.executable_id = hash_values(values);
	if (complete.is_kernel)
		/*
		 * The kernel's binaries are not distinguished by addresses, which other tools may
		 * leave out.
		 */
		complete.memory_start = complete.memory_limit = complete.file_offset = 0;
	err = opened_samples_spend(opened, sizeof(complete) + 2 * (strlen(complete.path) + 1));
	if (err)
		return err;
	mapping->binary = binary_create(&complete);
	if (!mapping->binary)
		return -ENOMEM;
	if (complete.is_kernel)
		mapping->module = module_of(mapping->binary->path);
	return complete.is_kernel && !mapping->module ? -ENOMEM : 0;
}

void opened_mapping_deinit(struct opened_mapping *mapping)
{
	free(mapping->module);
	if (mapping->binary)
		binary_unref(mapping->binary);
}

int opened_mappings_find(struct opened_mappings *mappings, const char *file,
			 struct opened_samples *opened, struct opened_mapping **found)
{
	uint64_t index = mappings->mappings.count;
	struct opened_mapping mapping;
	int err;

	if (!hash_map_find_bytes(&mappings->indexes, file, strlen(file), &index)) {
		if (index == OPENED_MAPPINGS_MAX)
			return fail(-EBADMSG, "it names more than %d files", OPENED_MAPPINGS_MAX);
		err = opened_mapping_init(&mapping, &(struct binary){ .path = (char *)file },
					  opened);
		if (err) {
			opened_mapping_deinit(&mapping);
			return err;
		}
		err = opened_mapping_vector_push(&mappings->mappings, mapping);
		if (err) {
			opened_mapping_deinit(&mapping);
			return err;
		}
		err = hash_map_set_bytes(&mappings->indexes, file, strlen(file), index);
		if (err)
			return err;
	}
	*found = &mappings->mappings.items[index];
	return 0;
}

void opened_mappings_deinit(struct opened_mappings *mappings)
{
	for (size_t i = 0; i < mappings->mappings.count; i++)
		opened_mapping_deinit(&mappings->mappings.items[i]);
	opened_mapping_vector_deinit(&mappings->mappings);
	hash_map_deinit(&mappings->indexes);
}

void opened_build_id(const char *text, struct binary *values)
{
	size_t length = strnlen(text, 2 * sizeof(values->build_id) + 1);

	if (length % 2 || length > 2 * sizeof(values->build_id))
		return;
	for (size_t i = 0; i < length; i += 2) {
		int high = text_hex_value(text[i]), low = text_hex_value(text[i + 1]);

		if (high < 0 || low < 0)
			return;
		values->build_id[i / 2] = high << 4 | low;
	}
	values->build_id_bytes = length / 2;
}

static uint8_t flags_of(const struct opened_name *name)
{
	return (name->marks & OPENED_GUESS ? FRAME_GUESS : 0) |
	       (name->marks & OPENED_APPROXIMATE ? FRAME_APPROXIMATE : 0) |
	       (name->marks & OPENED_INLINED ? FRAME_INLINED : 0);
}

static struct frame kernel_frame(const struct opened_mapping *mapping, struct frame frame)
{
	frame.kind = FRAME_KERNEL;
	if (mapping->kind == OPENED_IN_KERNEL) {
		frame.binary = mapping->binary;
		frame.file = mapping->module;
	} else if (mapping->kind == OPENED_FILE && strcmp(mapping->binary->path, NOWHERE)) {
		/* A kernel module. */
		frame.file = binary_name(mapping->binary);
	}
	return frame;
}

struct frame opened_frame_make(const struct opened_mapping *mapping, uint8_t kind,
			       const char *function, const struct opened_name *name,
			       const char *file, int64_t line, int64_t column)
{
	struct frame frame = { .kind = kind, .flags = flags_of(name) };

	if (name->marks & OPENED_ERROR)
		return (struct frame){ .kind = FRAME_ERROR, .error = name->error };
	if (name->marks & OPENED_NAMELESS)
		frame.address = name->address;
	else if (*function)
		frame.function = function;
	if (mapping->kind == OPENED_IN_KERNEL || name->marks & OPENED_KERNEL ||
	    kind == FRAME_KERNEL)
		return kernel_frame(mapping, frame);
	if (frame.kind == FRAME_NATIVE && !(name->marks & OPENED_JIT))
		frame.binary = mapping->binary;
	if (*file)
		frame.file = file;
	if (line > 0 && line <= UINT32_MAX)
		frame.line = line;
	if (column > 0 && column <= UINT32_MAX)
		frame.column = column;
	return frame;
}

void opened_frame_set_start(struct frame *frame, int64_t start_line)
{
	if (frame->kind != FRAME_ERROR && frame->kind != FRAME_KERNEL && frame->function &&
	    start_line > 0 && start_line <= UINT32_MAX)
		frame->start_line = (uint32_t)start_line;
}
