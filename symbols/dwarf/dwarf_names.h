/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of functions in DWARF: the linkage name, else the name; of the DIE itself, else of the abstract
 * one or the declaration that it refers to. Each is looked for once.
 */
#ifndef SYMBOLS_DWARF_DWARF_NAMES_H
#define SYMBOLS_DWARF_DWARF_NAMES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "symbols/cache/string_table.h"
#include "symbols/dwarf/dwarf_attributes.h"

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
