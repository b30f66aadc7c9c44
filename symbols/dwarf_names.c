/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/dwarf_names.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "agent/base/error.h"

enum {
	/* From a function to its abstract instance, and from there to its declaration: 2 in real files. */
	REFERENCES_MAX = 16,
	KNOWN_MAX = 1 << 20,
};

void dwarf_names_deinit(struct dwarf_names *names)
{
	hash_map_deinit(&names->known);
}

void dwarf_names_clear(struct dwarf_names *names)
{
	hash_map_deinit(&names->known);
}

/* The same languages as in binutils 2.40, bfd/dwarf2.c, mangle_style(). */
bool dwarf_names_is_plain_language(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Cobol74:
	case DW_LANG_Cobol85:
	case DW_LANG_Fortran77:
	case DW_LANG_Pascal83:
	case DW_LANG_PLI:
	case DW_LANG_UPC:
	case DW_LANG_Mips_Assembler:
		return true;
	default:
		return false;
	}
}

/* What the attributes of a function, and of those that it refers to, say. */
struct found {
	const char *linkage_name;
	const char *name;
};

static void look(Dwarf_Die *die, struct found *found)
{
	Dwarf_Die current = *die, next;

	for (int i = 0; i < REFERENCES_MAX && !found->linkage_name; i++) {
		Dwarf_Attribute attribute;

		if (dwarf_attr(&current, DW_AT_linkage_name, &attribute) ||
		    dwarf_attr(&current, DW_AT_MIPS_linkage_name, &attribute))
			found->linkage_name = dwarf_formstring(&attribute);
		if (!found->name && dwarf_attr(&current, DW_AT_name, &attribute))
			found->name = dwarf_formstring(&attribute);
		if (!dwarf_attr(&current, DW_AT_abstract_origin, &attribute) &&
		    !dwarf_attr(&current, DW_AT_specification, &attribute))
			return;
		if (!dwarf_formref_die(&attribute, &next) || next.addr == current.addr)
			return;
		current = next;
	}
}

static int add_name(struct dwarf_names *names, Dwarf_Die *die, bool is_plain_language,
		    struct dwarf_name *name)
{
	struct found found = { 0 };
	const char *text;

	look(die, &found);
	text = found.linkage_name ? found.linkage_name : found.name;
	name->is_plain = !found.linkage_name && (!is_plain_language || !found.name);
	if (!text) {
		name->number = 0;
		return 0;
	}
	return string_table_add(names->strings, text, strlen(text), &name->number);
}

/* Instances of one function refer to it and have no names of their own: its place is the key. */
static const void *key_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die origin;

	if (dwarf_tag(die) != DW_TAG_inlined_subroutine ||
	    !dwarf_attr(die, DW_AT_abstract_origin, &attribute) ||
	    !dwarf_formref_die(&attribute, &origin))
		return die->addr;
	*die = origin;
	return origin.addr;
}

int dwarf_names_find(struct dwarf_names *names, Dwarf_Die *die, bool is_plain_language,
		     struct dwarf_name *name)
{
	Dwarf_Die named = *die;
	uint64_t key = (uintptr_t)key_of(&named), known;
	struct dwarf_name found;
	int err;

	if (hash_map_find(&names->known, key, &known)) {
		*name = (struct dwarf_name){ .number = known >> 1, .is_plain = known & 1 };
		return 0;
	}
	err = add_name(names, &named, is_plain_language, &found);
	if (err)
		return err;
	if (names->known.count >= KNOWN_MAX)
		dwarf_names_clear(names);
	if (hash_map_set(&names->known, key, (uint64_t)found.number << 1 | found.is_plain))
		return fail(-ENOMEM, "no memory for names");
	*name = found;
	return 0;
}
