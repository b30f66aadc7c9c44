/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of functions in DWARF: the linkage name, else the name; that of the DIE itself, else that
 * of the abstract instance or the declaration that it refers to. Each name is looked up once. Also
 * the attributes that describe functions.
 */
#ifndef SYMBOLS_DWARF_DWARF_NAMES_H
#define SYMBOLS_DWARF_DWARF_NAMES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "symbols/cache/string_table.h"

enum dwarf_attribute {
	DWARF_LINKAGE_NAME,
	/** The linkage name as written by compilers before DWARF 4. */
	DWARF_MIPS_LINKAGE_NAME,
	DWARF_NAME,
	DWARF_ABSTRACT_ORIGIN,
	DWARF_SPECIFICATION,
	DWARF_LOW_PC,
	DWARF_HIGH_PC,
	DWARF_SYMBOLS,
	DWARF_CALL_FILE,
	DWARF_CALL_LINE,
	DWARF_DECL_LINE,
	DWARF_ATTRIBUTE_COUNT,
};

/**
 * The attributes of a DIE that describe functions, read in one pass: libdw passes over the DIE anew
 * for each attribute that it looks up.
 */
struct dwarf_attributes {
	/** A bit for each attribute that the DIE has. */
	uint32_t present;
	Dwarf_Attribute items[DWARF_ATTRIBUTE_COUNT];
};

/**
 * Reads the attributes of @die; those after damage are skipped. Valid while the Dwarf of @die
 * exists.
 */
void dwarf_attributes_read(struct dwarf_attributes *attributes, Dwarf_Die *die);

/** NULL if the DIE has none. */
static inline Dwarf_Attribute *dwarf_attributes_find(struct dwarf_attributes *attributes,
						     enum dwarf_attribute wanted)
{
	return attributes->present & 1u << wanted ? &attributes->items[wanted] : NULL;
}

/**
 * The DIE that @attribute refers to, which may be in dwz's common file; NULL if there is none.
 * Replaces dwarf_formref_die(), which up to elfutils 0.188 at least treats DWARF 5 references to
 * that file (DW_FORM_ref_sup4) as references within its own file.
 */
Dwarf_Die *dwarf_attributes_die(const Dwarf_Attribute *attribute, Dwarf_Die *die);

struct dwarf_name {
	/** Id in the string table; 0: none. */
	uint32_t id;
	/** Not a linkage name, although the language has linkage names. */
	bool is_plain;
	/** First line of the function; 0: unknown. */
	uint32_t start_line;
};

/** Used by one thread. Initialize all but @strings with zeros. */
struct dwarf_names {
	/** Borrowed. */
	struct string_table *strings;
	/** Maps the address of a DIE in memory to its name. */
	struct hash_map known;
};

void dwarf_names_deinit(struct dwarf_names *names);

/** Empties the cache. Call this before the memory of DIEs is reused. */
void dwarf_names_clear(struct dwarf_names *names);

/**
 * @attributes are those of @die. @is_plain_language: functions without a linkage name have their
 * plain name as linkage name, as in C.
 */
int dwarf_names_find(struct dwarf_names *names, Dwarf_Die *die, struct dwarf_attributes *attributes,
		     bool is_plain_language, struct dwarf_name *name);

/** True if the language of @unit uses plain names as linkage names, as C does. */
bool dwarf_names_is_plain_language(Dwarf_Die *unit);

#endif
