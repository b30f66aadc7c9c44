/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The tables of an OTLP request (ProfilesDictionary): what samples share. Every entry is kept once
 * for as long as the dictionary lives and has an id that stays; the requests made from it one after
 * the other each use some of the entries, and number these afresh, the hottest first, so that the
 * numbers that are written most often are short.
 *
 * Id 0 of each table is its zero value, "none", which is in every request and needs no use.
 *
 * The first failure is kept in err, and later calls do nothing and give 0: ask once at the end.
 * Owner: the thread that builds. The input bounds its size.
 */
#ifndef REPORTER_OTLP_DICTIONARY_H
#define REPORTER_OTLP_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/text_builder.h"
#include "reporter/sequence_counts.h"

enum {
	/** Longer texts are cut, never within a character. */
	OTLP_TEXT_MAX_BYTES = 16384,
	/** Longest varint of a reference: for lengths that are not known before the numbers. */
	OTLP_REFERENCE_MAX_BYTES = 5,
};

/** The link table is not among them: it is the same in all requests. */
enum otlp_table {
	OTLP_STRINGS,
	OTLP_ATTRIBUTES,
	OTLP_MAPPINGS,
	OTLP_FUNCTIONS,
	OTLP_LOCATIONS,
	OTLP_STACKS,
	OTLP_TABLE_COUNT,
};

struct otlp_text {
	/** NUL-terminated UTF-8. */
	char *bytes;
	uint32_t length;
};

enum otlp_value_kind {
	OTLP_VALUE_NONE,
	OTLP_VALUE_TEXT,
	OTLP_VALUE_NUMBER,
	OTLP_VALUE_TRUE,
};

struct otlp_attribute_entry {
	/** Id of a text. */
	uint32_t key;
	enum otlp_value_kind kind;
	/** Of OTLP_VALUE_TEXT the id, of OTLP_VALUE_NUMBER the number; else 0. */
	int64_t value;
};

struct otlp_mapping_entry {
	uint64_t memory_start;
	uint64_t memory_limit;
	uint64_t file_offset;
	uint32_t filename;
	uint32_t attribute_count;
	const uint32_t *attributes;
};

struct otlp_function_entry {
	uint32_t name;
	uint32_t filename;
};

struct otlp_location_entry {
	uint64_t address;
	uint32_t mapping;
	uint32_t attribute_count;
	const uint32_t *attributes;
	uint32_t line_count;
	/** Of each line the function and the line number. */
	const uint32_t *lines;
};

/** In the request that is being made. */
struct otlp_entry_use {
	/** References to the entry in the request's bytes. */
	uint32_t count;
	/** Its place in the request's table, after otlp_dictionary_number(). */
	uint32_t number;
};

VECTOR_DEFINE(otlp_text_vector, struct otlp_text)
VECTOR_DEFINE(otlp_use_vector, struct otlp_entry_use)

struct otlp_entries {
	/** By id; of OTLP_STRINGS, the texts are it. */
	struct sequence_counts contents;
	struct otlp_use_vector uses;
	/** Ids of those in use: in the order of use, later in that of their numbers. */
	struct number_vector used;
	/** References to entries of this table in the request's bytes. */
	size_t references;
};

struct otlp_reference {
	uint32_t table;
	uint32_t id;
};

VECTOR_DEFINE(otlp_reference_vector, struct otlp_reference)

struct otlp_dictionary {
	struct otlp_entries tables[OTLP_TABLE_COUNT];
	/** Texts are strings of the table and values of attributes. */
	struct otlp_text_vector texts;
	struct hash_map text_ids;
	/** Bytes of the entries in use without their references, at most. */
	size_t entry_bytes;
	/** What to take back: uses since the mark, and how things stood there. */
	struct otlp_reference_vector since_mark;
	size_t marked_entry_bytes;
	size_t marked_used[OTLP_TABLE_COUNT];
	struct text_builder text;
	struct number_vector sequence;
	int err;
};

/** For a zeroed one; failure is in err. Deinit in any case. */
void otlp_dictionary_init(struct otlp_dictionary *dictionary);
void otlp_dictionary_deinit(struct otlp_dictionary *dictionary);

/* --- entries: each gives the id of the entry that is equal, made if need be --- */

/** Cleans @name, which may hold anything (text_builder_append_name()), and cuts it if too long. */
uint32_t otlp_add_text(struct otlp_dictionary *dictionary, const char *name);
/** What stands in dictionary->text, which must be valid UTF-8 and is empty then. */
uint32_t otlp_add_built_text(struct otlp_dictionary *dictionary);
uint32_t otlp_add_attribute(struct otlp_dictionary *dictionary,
			    const struct otlp_attribute_entry *attribute);
uint32_t otlp_add_text_attribute(struct otlp_dictionary *dictionary, const char *key,
				 const char *value);
uint32_t otlp_add_mapping(struct otlp_dictionary *dictionary,
			  const struct otlp_mapping_entry *mapping);
uint32_t otlp_add_function(struct otlp_dictionary *dictionary,
			   const struct otlp_function_entry *function);
uint32_t otlp_add_location(struct otlp_dictionary *dictionary,
			   const struct otlp_location_entry *location);
/** @locations: leaf first. */
uint32_t otlp_add_stack(struct otlp_dictionary *dictionary, const struct number_vector *locations);

/* --- their content; arrays are borrowed until the next entry is added --- */

const struct otlp_text *otlp_text(const struct otlp_dictionary *dictionary, uint32_t id);
struct otlp_attribute_entry otlp_attribute(const struct otlp_dictionary *dictionary, uint32_t id);
struct otlp_mapping_entry otlp_mapping(const struct otlp_dictionary *dictionary, uint32_t id);
struct otlp_function_entry otlp_function(const struct otlp_dictionary *dictionary, uint32_t id);
struct otlp_location_entry otlp_location(const struct otlp_dictionary *dictionary, uint32_t id);
/** Returns the number of locations. */
uint32_t otlp_stack(const struct otlp_dictionary *dictionary, uint32_t id,
		    const uint32_t **locations);

/* --- one request after the other --- */

/**
 * Puts a reference to the entry into the request: the entry goes into its table, and all that it
 * refers to.
 */
void otlp_dictionary_use(struct otlp_dictionary *dictionary, enum otlp_table table, uint32_t id);

/** Uses up to here stay; otlp_dictionary_take_back() undoes those that come after. */
void otlp_dictionary_mark(struct otlp_dictionary *dictionary);
void otlp_dictionary_take_back(struct otlp_dictionary *dictionary);

/**
 * At most so many bytes will the ProfilesDictionary have, its tag and length included, and all
 * references to it, wherever in the request they stand.
 */
size_t otlp_dictionary_bytes(const struct otlp_dictionary *dictionary);

/** Gives the used entries their numbers in the request. Then no use may come until the next. */
void otlp_dictionary_number(struct otlp_dictionary *dictionary);

/** The place in the request's table of an entry that is in use; 0 for id 0. */
uint32_t otlp_number(const struct otlp_dictionary *dictionary, enum otlp_table table, uint32_t id);

/** Ends the request: nothing is in use. */
void otlp_dictionary_forget_uses(struct otlp_dictionary *dictionary);

/* --- sizes on the wire --- */

/** Bytes of @value as a varint: 1 to 10. */
static inline size_t otlp_varint_bytes(uint64_t value)
{
	return (70 - (size_t)__builtin_clzll(value | 1)) / 7;
}

/** Bytes of a field whose number is below 16 and whose value has a length and @bytes bytes. */
static inline size_t otlp_field_bytes(size_t bytes)
{
	return 1 + otlp_varint_bytes(bytes) + bytes;
}

/** Bytes of the tag and the length of a packed field of @count references, at most. */
static inline size_t otlp_packed_header_bytes(size_t count)
{
	return count ? 1 + otlp_varint_bytes(count * OTLP_REFERENCE_MAX_BYTES) : 0;
}

/**
 * Bytes of a submessage, its field included, that has @bytes bytes and @references references, at
 * most; the references themselves are counted by the dictionary.
 */
static inline size_t otlp_message_bytes(size_t bytes, size_t references)
{
	size_t reference_bytes = references * OTLP_REFERENCE_MAX_BYTES;

	return otlp_field_bytes(bytes + reference_bytes) - reference_bytes;
}

/** Bytes of an AnyValue with the attribute's value, its field included. */
size_t otlp_value_field_bytes(const struct otlp_dictionary *dictionary,
			      const struct otlp_attribute_entry *attribute);

#endif
