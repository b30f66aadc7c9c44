/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of functions in DWARF: the linkage name, else the name; of the DIE itself, else of the abstract
 * one or the declaration that it refers to. Each is looked for once. Also the attributes that functions
 * are known by.
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
	/** The linkage name as compilers wrote it before DWARF 4. */
	DWARF_MIPS_LINKAGE_NAME,
	DWARF_NAME,
	DWARF_ABSTRACT_ORIGIN,
	DWARF_SPECIFICATION,
	DWARF_LOW_PC,
	DWARF_HIGH_PC,
	DWARF_RANGES,
	DWARF_CALL_FILE,
	DWARF_CALL_LINE,
	DWARF_ATTRIBUTE_COUNT,
};

/**
 * The attributes of a DIE that functions are known by, in one pass: libdw passes over all of a DIE for each that it is
 * asked for.
 */
struct dwarf_attributes {
	/** A bit for each that the DIE has. */
	uint32_t present;
	Dwarf_Attribute items[DWARF_ATTRIBUTE_COUNT];
};

/** Reads those of @die; attributes behind damage are left out. Valid as long as the Dwarf of @die. */
void dwarf_attributes_read(struct dwarf_attributes *attributes, Dwarf_Die *die);

/** NULL if the DIE has none. */
static inline Dwarf_Attribute *dwarf_attributes_find(struct dwarf_attributes *attributes,
						     enum dwarf_attribute wanted)
{
	return attributes->present & 1u << wanted ? &attributes->items[wanted] : NULL;
}

/**
 * The DIE that @attribute refers to, also in dwz's common file; NULL if there is none. As dwarf_formref_die(), which
 * up to elfutils 0.188 at least takes references of DWARF 5 to that file (DW_FORM_ref_sup4) for such within its own.
 */
Dwarf_Die *dwarf_attributes_die(const Dwarf_Attribute *attribute, Dwarf_Die *die);

struct dwarf_name {
	/** In the string table; 0: none. */
	uint32_t number;
	/** No linkage name, in a language that has such names. */
	bool is_plain;
};

/** Used by one thread. All bytes zero but for @strings is an empty one. */
struct dwarf_names {
	/** Borrowed. */
	struct string_table *strings;
	/** Where a DIE lies in memory -> its name. */
	struct hash_map known;
};

void dwarf_names_deinit(struct dwarf_names *names);

/** Forgets what it knows: before the memory in which DIEs lie becomes other DIEs'. */
void dwarf_names_clear(struct dwarf_names *names);

/** @attributes: those of @die. @is_plain_language: whether what has no linkage name is named by it as linkers do, as in C. */
int dwarf_names_find(struct dwarf_names *names, Dwarf_Die *die, struct dwarf_attributes *attributes,
		     bool is_plain_language, struct dwarf_name *name);

/** Whether functions of @unit without a linkage name have their name as it is, as in C. */
bool dwarf_names_is_plain_language(Dwarf_Die *unit);

#endif
