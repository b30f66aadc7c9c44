/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The tables of an OTLP request (ProfilesDictionary): the data that samples share. Every entry is
 * stored once, and its id is stable while the dictionary lives. Each request uses some of the
 * entries and gives them indexes, the most used first, so that the indexes that are written most
 * often are short.
 *
 * Id 0 of each table is its zero value, "none", which is in every request and needs no use.
 *
 * The first error is kept in err. Later calls do nothing and return 0, so it is enough to check err
 * once at the end. Owner: the thread that builds. The input limits its size.
 */
#ifndef REPORTER_OTLP_DICTIONARY_H
#define REPORTER_OTLP_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/text_builder.h"
#include "reporter/sequence_counts.h"

enum {
	/** Longer strings are cut at a character boundary. */
	OTLP_STRING_MAX_BYTES = 16384,
	/**
	 * Longest varint of a reference. Used for lengths that must be known before the numbers
	 * are.
	 */
	OTLP_REFERENCE_MAX_BYTES = 5,
};

/** The link table is missing here because it is the same in all requests. */
enum otlp_table {
	OTLP_STRINGS,
	OTLP_ATTRIBUTES,
	OTLP_MAPPINGS,
	OTLP_FUNCTIONS,
	OTLP_LOCATIONS,
	OTLP_STACKS,
	OTLP_TABLE_COUNT,
};

struct otlp_string {
	/** NUL-terminated UTF-8. */
	char *bytes;
	uint32_t length;
};

enum otlp_value_kind {
	OTLP_VALUE_NONE,
	OTLP_VALUE_TEXT,
	OTLP_VALUE_NUMBER,
	OTLP_VALUE_TRUE,
	/** An array of texts. */
	OTLP_VALUE_TEXTS,
};

struct otlp_attribute_entry {
	/** Id of the key's text. */
	uint32_t key;
	enum otlp_value_kind kind;
	/** The text's id for OTLP_VALUE_TEXT, the number for OTLP_VALUE_NUMBER; else 0. */
	int64_t value;
	/** The ids of the texts of OTLP_VALUE_TEXTS; else 0. */
	uint32_t text_count;
	const uint32_t *texts;
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
	/** 0 if it is not known. */
	uint32_t start_line;
};

enum { OTLP_LINE_WORDS = 3 };

struct otlp_location_entry {
	uint64_t address;
	uint32_t mapping;
	uint32_t attribute_count;
	const uint32_t *attributes;
	uint32_t line_count;
	/** OTLP_LINE_WORDS for each: function, line number and column. */
	const uint32_t *lines;
};

/** An entry's use in the request that is being built. */
struct otlp_entry_use {
	/** References to the entry in the request's bytes. */
	uint32_t count;
	/** Index in the request's table, valid after otlp_dictionary_set_indexes(). */
	uint32_t index;
};

VECTOR_DEFINE(otlp_string_vector, struct otlp_string)
VECTOR_DEFINE(otlp_use_vector, struct otlp_entry_use)

struct otlp_entries {
	/** Contents by id; for OTLP_STRINGS the dictionary's strings are used instead. */
	struct sequence_counts contents;
	struct otlp_use_vector uses;
	/**
	 * Ids of the entries in use: first in the order of use, after
	 * otlp_dictionary_set_indexes() by index.
	 */
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
	/** The strings of the table and the text values of attributes. */
	struct otlp_string_vector strings;
	struct hash_map string_ids;
	/** Upper bound of the bytes of all entries in use, without their references. */
	size_t entry_bytes;
	/** For otlp_dictionary_take_back(): uses since the mark, and the sizes at the mark. */
	struct otlp_reference_vector since_mark;
	size_t marked_entry_bytes;
	size_t marked_used[OTLP_TABLE_COUNT];
	struct text_builder text;
	struct number_vector sequence;
	int err;
};

/** @dictionary is zeroed. Errors are kept in err; deinit in any case. */
void otlp_dictionary_init(struct otlp_dictionary *dictionary);
void otlp_dictionary_deinit(struct otlp_dictionary *dictionary);

/* --- entries: each function returns the id of the equal entry, and adds it if it is new --- */

/**
 * Cleans @name, which may hold any bytes (text_builder_append_name()), and cuts it if it is too
 * long.
 */
uint32_t otlp_add_string(struct otlp_dictionary *dictionary, const char *name);
/** Adds dictionary->text, which must be valid UTF-8, and empties it. */
uint32_t otlp_add_built_string(struct otlp_dictionary *dictionary);
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

/* --- contents of entries; arrays are borrowed until the next entry is added --- */

const struct otlp_string *otlp_string(const struct otlp_dictionary *dictionary, uint32_t id);
struct otlp_attribute_entry otlp_attribute(const struct otlp_dictionary *dictionary, uint32_t id);
struct otlp_mapping_entry otlp_mapping(const struct otlp_dictionary *dictionary, uint32_t id);
struct otlp_function_entry otlp_function(const struct otlp_dictionary *dictionary, uint32_t id);
struct otlp_location_entry otlp_location(const struct otlp_dictionary *dictionary, uint32_t id);
/** Returns the number of locations. */
uint32_t otlp_stack(const struct otlp_dictionary *dictionary, uint32_t id,
		    const uint32_t **locations);

/* --- requests, one after the other --- */

/**
 * Counts a reference to the entry in the request. The entry and all that it refers to go into the
 * request's tables.
 */
void otlp_dictionary_use(struct otlp_dictionary *dictionary, enum otlp_table table, uint32_t id);

/** Marks the current uses; otlp_dictionary_take_back() undoes all later ones. */
void otlp_dictionary_mark(struct otlp_dictionary *dictionary);
void otlp_dictionary_take_back(struct otlp_dictionary *dictionary);

/**
 * Upper bound of the bytes of the ProfilesDictionary, with its tag and length, and of all
 * references to it in the rest of the request.
 */
size_t otlp_dictionary_bytes(const struct otlp_dictionary *dictionary);

/** Gives the used entries their indexes in the request. No use may be added until the request has ended. */
void otlp_dictionary_set_indexes(struct otlp_dictionary *dictionary);

/** The index in the request's table of an entry in use; 0 for id 0. */
uint32_t otlp_index(const struct otlp_dictionary *dictionary, enum otlp_table table, uint32_t id);

/** Ends the request: nothing is in use. */
void otlp_dictionary_forget_uses(struct otlp_dictionary *dictionary);

/* --- sizes on the wire --- */

/** Bytes of @value as a varint: 1 to 10. */
static inline size_t otlp_varint_bytes(uint64_t value)
{
	return (70 - (size_t)__builtin_clzll(value | 1)) / 7;
}

/** Bytes of a length-delimited field with @bytes bytes whose field number is below 16. */
static inline size_t otlp_field_bytes(size_t bytes)
{
	return 1 + otlp_varint_bytes(bytes) + bytes;
}

/** Upper bound of the bytes of the tag and the length of a packed field of @count references. */
static inline size_t otlp_packed_header_bytes(size_t count)
{
	return count ? 1 + otlp_varint_bytes(count * OTLP_REFERENCE_MAX_BYTES) : 0;
}

/**
 * Upper bound of the bytes of a submessage, with its tag and length, that has @bytes bytes and
 * @references references. The references themselves are not included: the dictionary counts them.
 */
static inline size_t otlp_message_bytes(size_t bytes, size_t references)
{
	size_t reference_bytes = references * OTLP_REFERENCE_MAX_BYTES;

	return otlp_field_bytes(bytes + reference_bytes) - reference_bytes;
}

/** Bytes of an AnyValue field with the attribute's value. */
size_t otlp_value_field_bytes(const struct otlp_dictionary *dictionary,
			      const struct otlp_attribute_entry *attribute);

#endif
