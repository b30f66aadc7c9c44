/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The tables of a profile for pprof: strings, mappings, functions and locations, each once. An entry is written when it is
 * first asked for: the profile is written as many Profile messages of one element each. Concatenated they equal one Profile
 * with all elements (protocol buffers merge on concatenation), and no copy of the whole is needed in memory. All is
 * compressed by gzip.
 */
#ifndef REPORTER_PPROF_TABLES_H
#define REPORTER_PPROF_TABLES_H

#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

#include "build/proto/profile.pb-c.h"
#include "lib/base/hash_map.h"
#include "lib/base/text_builder.h"
#include "lib/model/symbol_lookup.h"
#include "reporter/stack_text.h"

enum { PPROF_COMPRESSED_BYTES = 16384 };

struct pprof_tables {
	FILE *out;
	struct symbol_lookup *lookup;
	z_stream stream;
	unsigned char compressed[PPROF_COMPRESSED_BYTES];
	/** The first error; after it everything is a no-op. Users may set it. */
	int err;
	/** Buffer of one packed message. */
	uint8_t *packed;
	size_t packed_capacity;
	/**
	 * strings maps a text to its index; the other maps map a key to an id. An id is the number of earlier
	 * entries + 1.
	 */
	struct hash_map strings;
	struct hash_map mappings;
	/** Maps the address of a struct binary to the id of its mapping. */
	struct hash_map binary_mappings;
	struct hash_map functions;
	struct hash_map locations;
	/** The text that pprof_tables_text() adds. */
	struct text_builder text;
};

/** @lookup may be NULL. -ENOMEM; deinit only after success. */
int pprof_tables_init(struct pprof_tables *tables, FILE *out, struct symbol_lookup *lookup);
void pprof_tables_deinit(struct pprof_tables *tables);

/** Writes the end of the compressed data; write errors stay in the file. */
void pprof_tables_finish(struct pprof_tables *tables);

/** Writes a message with a part of the profile. */
void pprof_tables_write(struct pprof_tables *tables, const Pprof__Profile *profile);

/** The index of a constant text. */
int64_t pprof_tables_literal(struct pprof_tables *tables, const char *string);
/** The index of a name from outside, which is made valid UTF-8; NULL is "". */
int64_t pprof_tables_name(struct pprof_tables *tables, const char *name);
/** The index of tables->text, which is then empty again. */
int64_t pprof_tables_text(struct pprof_tables *tables);

/** Writes a mapping without code, by whose name tools call the profile. It must be the first. */
void pprof_tables_name_profile(struct pprof_tables *tables, const char *name);

/** The id of the location with all its functions. */
uint64_t pprof_tables_location(struct pprof_tables *tables, const struct shown_location *shown);

/** The id of the location that stands for all processes of the name @comm, above their stacks. */
uint64_t pprof_tables_process(struct pprof_tables *tables, const char *comm);

#endif
