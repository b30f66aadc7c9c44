/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process runs while it is read. The fingerprint is read before and after the object; the result is used only if
 * both are equal. All pointers are hostile; they are only used to read memory of the process.
 */
#include "interpreters/ruby/ruby_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/ruby/ruby_lines.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/hash128.h"

enum {
	BODY_BYTES = 8 * (RUBY_BODY_WORDS + 8),
};

/** The file name of methods in C, as in rb_profile_frame_path(). */
static const char c_file[] = "<cfunc>";

/** A cached name. It is one block of memory. */
struct ruby_name {
	uint32_t first_line;
	uint32_t file;
	uint32_t text_bytes;
	uint32_t line_count;
	uint32_t index_words;
	bool is_method;
	/** The bit vector, the lines, and the two texts. */
	uint64_t words[];
};

struct name_key {
	uint64_t address;
	uint32_t fingerprint;
	/** hash_name(); 0: not computed yet. */
	uint32_t object;
	uint64_t is_method;
	/** The method entry that a sequence runs for; 0: there is none. */
	uint64_t owner;
};

/** The tables of lines that were read for a sequence. */
struct tables {
	uint32_t *lines;
	uint64_t *index;
	uint32_t line_count;
	uint32_t index_words;
};

static void tables_deinit(struct tables *tables)
{
	free(tables->lines);
	free(tables->index);
}

static const uint32_t *name_lines(const struct ruby_name *name)
{
	return (const uint32_t *)(name->words + name->index_words);
}

static const char *name_text(const struct ruby_name *name)
{
	return (const char *)(name_lines(name) + name->line_count);
}

static size_t name_bytes(const struct ruby_name *name)
{
	return sizeof(*name) + name->index_words * sizeof(uint64_t) +
	       name->line_count * sizeof(uint32_t) + name->text_bytes;
}

void ruby_names_init(struct ruby_names *names, const struct ruby_layout *layout,
		     const struct ruby_process *process, uint64_t symbols)
{
	names->layout = layout;
	names->process = *process;
	names->symbols = symbols;
	object_cache_init(&names->cache, sizeof(struct name_key), RUBY_NAMES_MAX_ENTRIES,
			  RUBY_NAMES_MAX_BYTES);
}

void ruby_names_deinit(struct ruby_names *names)
{
	object_cache_deinit(&names->cache);
}

void ruby_names_describe(const struct ruby_layout *layout, struct ruby_process *process)
{
	const uint16_t chosen[RUBY_CHOSEN_WORDS] = { 0, layout->body_instructions,
						     layout->body_path, layout->body_label,
						     layout->body_first_line };

	process->sequence_body = layout->sequence_body;
	process->body_instructions = (uint8_t)(layout->body_instructions / 8);
	process->body_flags = (uint8_t)(layout->body_flags / 8);
	process->body_optional_count = (uint8_t)(layout->body_optional_count / 8);
	process->body_optional_table = (uint8_t)(layout->body_optional_table / 8);
	for (size_t i = 0; i < RUBY_CHOSEN_WORDS; i++)
		process->body_words[i] = (uint8_t)(chosen[i] / 8);
	process->body_label = (uint8_t)(layout->body_label / 8);
	process->body_path = (uint8_t)(layout->body_path / 8);
	process->class_attached = layout->class_attached;
	process->class_path = layout->class_path;
}

/* Reads the first words of the object at @address, and checks its kind, since it may have been freed or replaced. */
static int read_object(struct remote_memory *memory, uint64_t address, uint64_t kind,
		       uint64_t words[1 + RUBY_METHOD_WORDS])
{
	int err = remote_memory_read(memory, address, words,
				     (1 + RUBY_METHOD_WORDS) * sizeof(words[0]));

	if (err == -EFAULT || (!err && (words[0] & RUBY_IMEMO_MASK) != kind))
		return fail(-ESTALE, "no such object at %#" PRIx64 " any more", address);
	return err;
}

static uint64_t mix_words(uint64_t sum, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sum = fingerprint_mix(sum, words[i]);
	return sum;
}

/* Mixes the words of the String or Array at @address into @sum. *@first: the first word. */
static int mix_text(struct remote_memory *memory, uint64_t address, uint64_t *first, uint64_t *sum)
{
	uint64_t words[RUBY_TEXT_WORDS];
	int err = remote_memory_read(memory, address + RUBY_TEXT_OFFSET, words, sizeof(words));

	if (err)
		return err;
	*sum = mix_words(*sum, words, RUBY_TEXT_WORDS);
	*first = words[0];
	return 0;
}

/* The same for a path; if it is an Array, also for the String that is its first element. */
static int mix_path(struct remote_memory *memory, uint64_t address, uint64_t *sum)
{
	uint64_t flags, first;
	int err = remote_memory_read(memory, address, &flags, sizeof(flags));

	if (!err)
		err = mix_text(memory, address, &first, sum);
	if (!err && (flags & RUBY_TYPE_MASK) == RUBY_TYPE_ARRAY)
		err = mix_text(memory, first, &first, sum);
	return err;
}

/* The same as the kernel side's ruby_mix_class(). */
static int mix_class(const struct ruby_process *process, struct remote_memory *memory,
		     uint64_t class, uint64_t *sum)
{
	uint64_t flags, path, first;
	int err = remote_memory_read(memory, class, &flags, sizeof(flags));

	if (!err && ruby_is_singleton(flags)) {
		err = remote_memory_read(memory, class + process->class_attached, &class,
					 sizeof(class));
		if (!err)
			err = remote_memory_read(memory, class, &flags, sizeof(flags));
	}
	if (err)
		return err;
	*sum = fingerprint_mix(*sum, class);
	if (!ruby_is_class(flags))
		return 0;
	err = remote_memory_read(memory, class + process->class_path, &path, sizeof(path));
	if (err)
		return err;
	*sum = fingerprint_mix(*sum, path);
	return path <= RUBY_NIL ? 0 : mix_text(memory, path, &first, sum);
}

static int method_fingerprint(const struct ruby_names *names, struct remote_memory *memory,
			      uint64_t address, uint32_t *fingerprint)
{
	uint64_t object[1 + RUBY_METHOD_WORDS], sum;
	int err = read_object(memory, address, RUBY_IMEMO_METHOD, object);

	if (err)
		return err;
	sum = mix_words(0, object + 1, RUBY_METHOD_WORDS);
	if (names->process.class_path)
		err = mix_class(&names->process, memory, object[RUBY_METHOD_WORDS], &sum);
	if (!err)
		*fingerprint = fingerprint_end(sum);
	return err;
}

static int sequence_fingerprint(const struct ruby_names *names, struct remote_memory *memory,
				uint64_t address, uint32_t *fingerprint)
{
	uint64_t object[1 + RUBY_METHOD_WORDS], body[RUBY_BODY_WORDS], first, sum;
	const struct ruby_process *process = &names->process;
	int err = read_object(memory, address, RUBY_IMEMO_SEQUENCE, object);

	if (err)
		return err;
	sum = object[process->sequence_body / 8];
	err = remote_memory_read(memory, sum, body, sizeof(body));
	if (err)
		return err;
	for (size_t i = 0; i < RUBY_CHOSEN_WORDS; i++)
		sum = fingerprint_mix(sum, body[process->body_words[i]]);
	err = mix_text(memory, body[process->body_label], &first, &sum);
	if (!err)
		err = mix_path(memory, body[process->body_path], &sum);
	if (!err)
		*fingerprint = fingerprint_end(sum);
	return err;
}

/* Computes the fingerprint of the object of @key as the kernel side does. */
static int read_fingerprint(const struct ruby_names *names, struct remote_memory *memory,
			    const struct name_key *key, uint32_t *fingerprint)
{
	uint32_t sequence, method;
	int err;

	if (key->is_method)
		return method_fingerprint(names, memory, key->address, fingerprint);
	if (!key->owner)
		return sequence_fingerprint(names, memory, key->address, fingerprint);
	err = sequence_fingerprint(names, memory, key->address, &sequence);
	if (!err)
		err = method_fingerprint(names, memory, key->owner, &method);
	if (!err)
		*fingerprint = fingerprint_end(fingerprint_mix(sequence, method));
	return err;
}

static int check_fingerprint(const struct ruby_names *names, struct remote_memory *memory,
			     const struct name_key *key)
{
	uint32_t fingerprint;
	int err = read_fingerprint(names, memory, key, &fingerprint);

	if (err == -EFAULT || (!err && fingerprint != key->fingerprint))
		return fail(-ESTALE, "another object at %#" PRIx64, key->address);
	return err;
}

static uint64_t body_word(const uint8_t *body, uint16_t offset)
{
	uint64_t word;

	memcpy(&word, body + offset, sizeof(word));
	return word;
}

static uint32_t body_half_word(const uint8_t *body, uint16_t offset)
{
	uint32_t word;

	memcpy(&word, body + offset, sizeof(word));
	return word;
}

/* Reads the lines of @count entries at @address. */
static int read_lines(struct remote_memory *memory, uint64_t address, uint32_t count,
		      uint32_t entry_bytes, struct tables *tables)
{
	_cleanup_(free_pointer) uint8_t *entries = NULL;
	int err;

	tables->lines = calloc(count, sizeof(tables->lines[0]));
	entries = malloc((size_t)count * entry_bytes);
	if (!tables->lines || !entries)
		return -ENOMEM;
	err = remote_memory_read(memory, address, entries, (size_t)count * entry_bytes);
	for (uint32_t i = 0; !err && i < count; i++)
		memcpy(&tables->lines[i], entries + (size_t)i * entry_bytes,
		       sizeof(tables->lines[i]));
	tables->line_count = err ? 0 : count;
	return err;
}

static int read_index(struct remote_memory *memory, uint64_t address, uint32_t words,
		      struct tables *tables)
{
	int err;

	tables->index = calloc(words, sizeof(tables->index[0]));
	if (!tables->index)
		return -ENOMEM;
	err = remote_memory_read(memory, address, tables->index, words * sizeof(tables->index[0]));
	tables->index_words = err ? 0 : words;
	return err;
}

/* Reads the tables of the sequence with @body; they are empty if they are too large. */
static int read_tables(const struct ruby_layout *layout, struct remote_memory *memory,
		       const uint8_t *body, struct tables *tables)
{
	uint32_t count = body_half_word(body, layout->body_line_count);
	uint32_t positions = body_half_word(body, layout->body_size);
	int err;

	if (!count || count > RUBY_LINES_MAX_ENTRIES || positions > RUBY_LINES_MAX_POSITIONS)
		return 0;
	err = read_lines(memory, body_word(body, layout->body_lines), count, layout->line_bytes,
			 tables);
	if (err || count == 1 || !positions)
		return err;
	return read_index(memory, body_word(body, layout->body_line_index),
			  ruby_lines_index_words(positions), tables);
}

static struct ruby_name *make_name(const struct ruby_name *header, const struct tables *tables,
				   const char *function, const char *file)
{
	struct ruby_name *made = malloc(name_bytes(header));
	char *text;

	if (!made)
		return NULL;
	*made = *header;
	if (tables->index_words)
		memcpy(made->words, tables->index, tables->index_words * sizeof(uint64_t));
	if (tables->line_count)
		memcpy((uint32_t *)(made->words + tables->index_words), tables->lines,
		       tables->line_count * sizeof(uint32_t));
	text = (char *)((uint32_t *)(made->words + made->index_words) + made->line_count);
	memcpy(text, function, header->file);
	memcpy(text + header->file, file, header->text_bytes - header->file);
	return made;
}

/* Reads the owner of the method entry at @entry, if there is one, to names->owner. */
static int read_owner(struct ruby_names *names, struct remote_memory *memory, uint64_t entry)
{
	names->owner.separator = 0;
	return entry ? ruby_owner_read(memory, names->layout, entry, &names->owner) : 0;
}

/* Reads the name of a sequence whose own label is at @label. */
static int read_label(struct ruby_names *names, struct remote_memory *memory,
		      const struct name_key *key, uint64_t label, size_t *length)
{
	int err;

	if (!names->layout->class_path)
		return ruby_string_read(memory, names->layout, label, names->name, length);
	err = read_owner(names, memory, key->owner);
	return err ? err :
		     ruby_label_read(memory, names->layout, key->address, &names->owner,
				     names->name, length);
}

static int read_sequence(struct ruby_names *names, struct remote_memory *memory,
			 const struct name_key *key, struct ruby_name **name)
{
	const struct ruby_layout *layout = names->layout;
	_cleanup_(tables_deinit) struct tables tables = { 0 };
	size_t name_length, path_length;
	uint8_t body[BODY_BYTES];
	struct ruby_name header;
	uint64_t body_address;
	int err;

	err = remote_memory_read(memory, key->address + layout->sequence_body, &body_address,
				 sizeof(body_address));
	if (!err)
		err = remote_memory_read(memory, body_address, body, sizeof(body));
	if (!err)
		err = read_label(names, memory, key, body_word(body, layout->body_label),
				 &name_length);
	if (!err)
		err = ruby_path_read(memory, layout, body_word(body, layout->body_path),
				     names->path, &path_length);
	if (!err)
		err = read_tables(layout, memory, body, &tables);
	if (err)
		return err;
	header = (struct ruby_name){
		.first_line = body_half_word(body, layout->body_first_line),
		.file = (uint32_t)name_length + 1,
		.text_bytes = (uint32_t)(name_length + 1 + path_length + 1),
		.line_count = tables.line_count,
		.index_words = tables.index_words,
	};
	*name = make_name(&header, &tables, names->name, names->path);
	return *name ? 0 : -ENOMEM;
}

static int read_method(struct ruby_names *names, struct remote_memory *memory, uint64_t address,
		       struct ruby_name **name)
{
	const struct ruby_layout *layout = names->layout;
	const struct tables none = { 0 };
	struct ruby_name header = { .is_method = true };
	uint64_t definition, id;
	size_t length;
	int err;

	err = remote_memory_read(memory, address + layout->method_definition, &definition,
				 sizeof(definition));
	if (!err)
		err = remote_memory_read(memory, definition + layout->definition_id, &id,
					 sizeof(id));
	if (!err)
		err = ruby_symbol_read(memory, layout, names->symbols, id, names->name, &length);
	if (!err && layout->class_path)
		err = read_owner(names, memory, address);
	if (err)
		return err;
	if (layout->class_path)
		ruby_owner_add(&names->owner, names->name, &length);
	header.file = (uint32_t)length + 1;
	header.text_bytes = (uint32_t)(length + 1 + sizeof(c_file));
	*name = make_name(&header, &none, names->name, c_file);
	return *name ? 0 : -ENOMEM;
}

static uint32_t hash_name(const struct ruby_name *name)
{
	uint64_t sum = hash64_bytes(name->words, name_bytes(name) - sizeof(*name));

	sum = fingerprint_mix(sum, name->first_line);
	return object_cache_hash(fingerprint_mix(sum, name->file));
}

/* Finds the name of @key in the cache, or reads it. The result is borrowed until the next call. */
static int get_name(struct ruby_names *names, struct remote_memory *memory, struct name_key *key,
		    const struct ruby_name **name)
{
	const struct ruby_name *found = key->object ? object_cache_get(&names->cache, key) : NULL;
	struct ruby_name *made = NULL;
	int err, changed = 0;

	if (found) {
		*name = found;
		return 0;
	}
	err = check_fingerprint(names, memory, key);
	if (err)
		return err;
	err = key->is_method ? read_method(names, memory, key->address, &made) :
			       read_sequence(names, memory, key, &made);
	/* The result is useless if the object was freed while it was read. */
	if (err != -ESRCH && err != -ENOMEM)
		changed = check_fingerprint(names, memory, key);
	if (err || changed) {
		free(made);
		return changed ? changed : err;
	}
	*name = object_cache_add(&names->cache, key, &key->object, hash_name(made), made,
				 name_bytes(made));
	return *name ? 0 : fail(-ESTALE, "another object at %#" PRIx64, key->address);
}

static uint32_t line_at(const struct ruby_name *name, uint32_t position)
{
	const struct ruby_lines lines = { .lines = name_lines(name),
					  .count = name->line_count,
					  .index = name->words,
					  .index_words = name->index_words };
	/* The pc is after the instruction, or at the first one. */
	uint32_t line = ruby_line(&lines, position ? position - 1 : 0);

	return line ? line : name->first_line;
}

/* Names the phase of the garbage collector. */
static int name_collector(const uint64_t *words, uint32_t *object, struct interpreted_frame *frame)
{
	static const char *const names[] = {
		[RUBY_COLLECTOR_MARKS] = "[GC marking]",
		[RUBY_COLLECTOR_SWEEPS] = "[GC sweeping]",
		[RUBY_COLLECTOR_COMPACTS] = "[GC compacting]",
	};
	uint64_t mode = frame_address(words[0]);

	if (mode < RUBY_COLLECTOR_MARKS || mode > RUBY_COLLECTOR_COMPACTS)
		return fail(-EBADMSG, "a garbage collector in mode %" PRIu64, mode);
	*object = 1;
	frame->function = names[mode];
	return 0;
}

int ruby_names_symbolize(struct ruby_names *names, struct remote_memory *memory,
			 const uint64_t *words, uint32_t *object, struct interpreted_frame *frame)
{
	uint32_t position = (uint32_t)(words[1] >> 32);
	bool is_method = position == RUBY_METHOD_ENTRY;
	struct name_key key = { .address = frame_address(words[0]),
				.fingerprint = (uint32_t)words[1],
				.object = *object,
				.is_method = is_method,
				.owner = frame_flags(words[0]) & FRAME_HAS_OWNER ? words[2] : 0 };
	const struct ruby_name *name;
	int err;

	if (position == RUBY_COLLECTOR)
		return name_collector(words, object, frame);
	if (!key.fingerprint)
		return fail(-ESTALE, "an object that could not be read");
	err = get_name(names, memory, &key, &name);
	if (err)
		return err;
	*object = key.object;
	frame->function = name_text(name);
	frame->file = name_text(name) + name->file;
	frame->line = name->is_method ? 0 : line_at(name, position & ~RUBY_IS_APPROXIMATE);
	frame->start_line = name->is_method ? 0 : name->first_line;
	frame->is_approximate = !is_method && position & RUBY_IS_APPROXIMATE;
	return 0;
}
