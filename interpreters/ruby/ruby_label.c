/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/ruby/ruby_label.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ebpf/abi/ruby.h"
#include "lib/base/error.h"

enum {
	/** Offset of `owner` in a method entry; after the flags come defined_class, def, called_id, owner. */
	ENTRY_OWNER = 8 * RUBY_METHOD_WORDS,
	CLASS_IS_LASTING = 1,
	/** Number of bytes of a body that are read. */
	BODY_BYTES = 192,
	PREFIX_BYTES = 40,
};

/** enum rb_iseq_type */
enum sequence_type {
	SEQUENCE_METHOD = 1,
	SEQUENCE_BLOCK = 2,
	SEQUENCE_EVAL = 6,
	SEQUENCE_PLAIN = 8,
};

struct sequence {
	uint64_t address;
	uint32_t type;
	uint64_t label;
	/** The sequence around it, and the sequence of the method, class or file that it is part of. */
	uint64_t parent;
	uint64_t local;
};

/* Reads the path of the class at @address with the flags @flags; empty if it has no permanent one. */
static int read_path(struct remote_memory *memory, const struct ruby_layout *layout,
		     uint64_t address, uint64_t flags, struct ruby_owner *owner)
{
	uint64_t path;
	uint8_t lasting;
	int err;

	owner->length = 0;
	if (!ruby_is_class(flags))
		return 0;
	err = remote_memory_read(memory, address + layout->class_path, &path, sizeof(path));
	if (!err)
		err = remote_memory_read(memory, address + layout->class_permanent, &lasting,
					 sizeof(lasting));
	if (err || path <= RUBY_NIL || !(lasting & CLASS_IS_LASTING))
		return err;
	return ruby_string_read(memory, layout, path, owner->path, &owner->length);
}

int ruby_owner_read(struct remote_memory *memory, const struct ruby_layout *layout, uint64_t entry,
		    struct ruby_owner *owner)
{
	uint64_t class, flags;
	char separator = '#';
	int err;

	owner->separator = 0;
	err = remote_memory_read(memory, entry + ENTRY_OWNER, &class, sizeof(class));
	if (!err)
		err = remote_memory_read(memory, class, &flags, sizeof(flags));
	if (!err && ruby_is_singleton(flags)) {
		separator = '.';
		err = remote_memory_read(memory, class + layout->class_attached, &class,
					 sizeof(class));
		if (!err)
			err = remote_memory_read(memory, class, &flags, sizeof(flags));
	}
	if (!err)
		err = read_path(memory, layout, class, flags, owner);
	if (!err && owner->length)
		owner->separator = separator;
	return err;
}

/* Puts @bytes bytes before the text; false if it would be too long. */
static bool prepend(const char *added, size_t bytes, ruby_text text, size_t *length)
{
	if (*length + bytes > FRAME_NAME_MAX_BYTES)
		return false;
	memmove(text + bytes, text, *length + 1);
	memcpy(text, added, bytes);
	*length += bytes;
	return true;
}

void ruby_owner_add(const struct ruby_owner *owner, ruby_text name, size_t *length)
{
	if (owner->separator && *length + 1 + owner->length <= FRAME_NAME_MAX_BYTES) {
		prepend(&owner->separator, 1, name, length);
		prepend(owner->path, owner->length, name, length);
	}
}

static uint64_t word_at(const uint8_t *bytes, uint16_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static int read_sequence(struct remote_memory *memory, const struct ruby_layout *layout,
			 uint64_t address, struct sequence *sequence)
{
	uint64_t flags, body_address;
	uint8_t body[BODY_BYTES];
	int err = remote_memory_read(memory, address, &flags, sizeof(flags));

	if (!err && (flags & RUBY_IMEMO_MASK) != RUBY_IMEMO_SEQUENCE)
		err = fail(-EBADMSG, "no sequence at %#" PRIx64, address);
	if (!err)
		err = remote_memory_read(memory, address + layout->sequence_body, &body_address,
					 sizeof(body_address));
	if (!err)
		err = remote_memory_read(memory, body_address, body, sizeof(body));
	if (!err)
		*sequence = (struct sequence){ .address = address,
					       .type = (uint32_t)word_at(body, 0),
					       .label = word_at(body, layout->body_label),
					       .parent = word_at(body, layout->body_parent),
					       .local = word_at(body, layout->body_local) };
	return err;
}

/* Moves to the sequence around this one. It must belong to the same method; a freed one may have been replaced. */
static int go_out(struct remote_memory *memory, const struct ruby_layout *layout,
		  struct sequence *sequence)
{
	struct sequence outer;
	int err = read_sequence(memory, layout, sequence->parent, &outer);

	if (!err && outer.local != sequence->local)
		err = fail(-EBADMSG, "no sequence around that at %#" PRIx64, sequence->address);
	if (!err)
		*sequence = outer;
	return err;
}

static bool is_part(uint32_t type)
{
	return type == RUBY_SEQUENCE_RESCUE || type == RUBY_SEQUENCE_ENSURE ||
	       type == SEQUENCE_EVAL;
}

static bool is_block(uint32_t type)
{
	return type == SEQUENCE_BLOCK || type == SEQUENCE_PLAIN;
}

/*
 * Moves outwards to the sequence that has the name. *@level: the number of blocks on the way; *@is_in_block: there was
 * at least one.
 */
static int find_named(struct remote_memory *memory, const struct ruby_layout *layout,
		      struct sequence *sequence, uint32_t *level, bool *is_in_block)
{
	int err = 0;

	*level = 0;
	*is_in_block = false;
	for (uint32_t i = 0; !err && i < RUBY_LABEL_MAX_SEQUENCES; i++) {
		*is_in_block |= is_block(sequence->type);
		if (*is_in_block ? sequence->address == sequence->local : !is_part(sequence->type))
			return 0;
		*level += sequence->type == SEQUENCE_BLOCK;
		err = go_out(memory, layout, sequence);
	}
	return err ? err : fail(-EBADMSG, "too many sequences around one");
}

int ruby_label_read(struct remote_memory *memory, const struct ruby_layout *layout,
		    uint64_t address, const struct ruby_owner *owner, ruby_text label,
		    size_t *length)
{
	char prefix[PREFIX_BYTES] = "block in ";
	struct sequence sequence;
	uint32_t level = 0;
	bool is_in_block = false;
	int err = read_sequence(memory, layout, address, &sequence);

	if (!err)
		err = find_named(memory, layout, &sequence, &level, &is_in_block);
	if (!err)
		err = ruby_string_read(memory, layout, sequence.label, label, length);
	if (err)
		return err;
	if (sequence.type == SEQUENCE_METHOD)
		ruby_owner_add(owner, label, length);
	if (level > 1)
		snprintf(prefix, sizeof(prefix), "block (%" PRIu32 " levels) in ", level);
	if (is_in_block)
		prepend(prefix, strlen(prefix), label, length);
	return 0;
}
