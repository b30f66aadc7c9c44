/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/dwarf/dwarf_names.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "lib/base/error.h"

enum {
	/*
	 * From a function to its abstract instance, and from there to its declaration: 2 in real
	 * files.
	 */
	REFERENCES_MAX = 16,
	/* Greater lines are unknown, so that a name is packed into 64 bits. */
	START_LINE_MAX = INT32_MAX,
	START_LINE_SHIFT = 33,
	KNOWN_MAX = 1 << 20,
};

/* --- attributes --- */

static int number_of(unsigned int name)
{
	switch (name) {
	case DW_AT_linkage_name:
		return DWARF_LINKAGE_NAME;
	case DW_AT_MIPS_linkage_name:
		return DWARF_MIPS_LINKAGE_NAME;
	case DW_AT_name:
		return DWARF_NAME;
	case DW_AT_abstract_origin:
		return DWARF_ABSTRACT_ORIGIN;
	case DW_AT_specification:
		return DWARF_SPECIFICATION;
	case DW_AT_low_pc:
		return DWARF_LOW_PC;
	case DW_AT_high_pc:
		return DWARF_HIGH_PC;
	case DW_AT_ranges:
		return DWARF_SYMBOLS;
	case DW_AT_call_file:
		return DWARF_CALL_FILE;
	case DW_AT_call_line:
		return DWARF_CALL_LINE;
	case DW_AT_decl_line:
		return DWARF_DECL_LINE;
	default:
		return DWARF_ATTRIBUTE_COUNT;
	}
}

/* The first of several equal attributes counts, as in libdw. */
static int take(Dwarf_Attribute *attribute, void *context)
{
	struct dwarf_attributes *attributes = context;
	int number = number_of(dwarf_whatattr(attribute));

	if (number < DWARF_ATTRIBUTE_COUNT && !(attributes->present & 1u << number)) {
		attributes->present |= 1u << number;
		attributes->items[number] = *attribute;
	}
	return DWARF_CB_OK;
}

void dwarf_attributes_read(struct dwarf_attributes *attributes, Dwarf_Die *die)
{
	attributes->present = 0;
	(void)dwarf_getattrs(die, take, attributes, 0);
}

Dwarf_Die *dwarf_attributes_die(const Dwarf_Attribute *attribute, Dwarf_Die *die)
{
	Dwarf_Attribute reference = *attribute;
	uint8_t offset_bytes;
	Dwarf_Die unit;

	if (attribute->form == DW_FORM_ref_sup4 || attribute->form == DW_FORM_ref_sup8) {
		/*
		 * Uses the form of before DWARF 5, in which the number has the unit's offset size.
		 */
		if (!dwarf_cu_die(attribute->cu, &unit, NULL, NULL, NULL, &offset_bytes, NULL,
				  NULL) ||
		    offset_bytes != (attribute->form == DW_FORM_ref_sup4 ? 4 : 8))
			return NULL;
		reference.form = DW_FORM_GNU_ref_alt;
	}
	return dwarf_formref_die(&reference, die);
}

/* --- names --- */

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

/* The name attributes of a function, and of the DIEs that it refers to. */
struct found {
	const char *linkage_name;
	const char *name;
	uint32_t line;
};

/* @attributes belong to a DIE, and are overwritten with those of others. */
static void look(struct dwarf_attributes *attributes, struct found *found)
{
	for (int i = 0; i < REFERENCES_MAX; i++) {
		Dwarf_Attribute *linkage = dwarf_attributes_find(attributes, DWARF_LINKAGE_NAME);
		Dwarf_Attribute *name = dwarf_attributes_find(attributes, DWARF_NAME);
		Dwarf_Attribute *line = dwarf_attributes_find(attributes, DWARF_DECL_LINE);
		Dwarf_Attribute *next = dwarf_attributes_find(attributes, DWARF_ABSTRACT_ORIGIN);
		Dwarf_Word number;
		Dwarf_Die die;

		if (!linkage)
			linkage = dwarf_attributes_find(attributes, DWARF_MIPS_LINKAGE_NAME);
		if (linkage)
			found->linkage_name = dwarf_formstring(linkage);
		if (!found->name && name)
			found->name = dwarf_formstring(name);
		/* A definition comes before its declaration. */
		if (!found->line && line && !dwarf_formudata(line, &number) &&
		    number <= START_LINE_MAX)
			found->line = (uint32_t)number;
		if (!next)
			next = dwarf_attributes_find(attributes, DWARF_SPECIFICATION);
		if (found->linkage_name || !next || !dwarf_attributes_die(next, &die))
			return;
		dwarf_attributes_read(attributes, &die);
	}
}

static int add_name(struct dwarf_names *names, struct dwarf_attributes *attributes,
		    bool is_plain_language, struct dwarf_name *name)
{
	struct found found = { 0 };
	const char *text;

	look(attributes, &found);
	text = found.linkage_name ? found.linkage_name : found.name;
	name->start_line = found.line;
	name->is_plain = !found.linkage_name && (!is_plain_language || !found.name);
	if (!text) {
		name->id = 0;
		return 0;
	}
	return string_table_add(names->strings, text, strlen(text), &name->id);
}

/*
 * Inlined instances of a function have no names but refer to the function: its address is the key.
 */
static bool find_origin(Dwarf_Die *die, struct dwarf_attributes *attributes, Dwarf_Die *origin)
{
	Dwarf_Attribute *attribute = dwarf_attributes_find(attributes, DWARF_ABSTRACT_ORIGIN);

	return dwarf_tag(die) == DW_TAG_inlined_subroutine && attribute &&
	       dwarf_attributes_die(attribute, origin);
}

/* The value of a name in the cache. */
static uint64_t pack(const struct dwarf_name *name)
{
	return (uint64_t)name->start_line << START_LINE_SHIFT | (uint64_t)name->id << 1 |
	       name->is_plain;
}

static struct dwarf_name unpack(uint64_t packed)
{
	return (struct dwarf_name){
		.id = (uint32_t)(packed >> 1),
		.is_plain = packed & 1,
		.start_line = (uint32_t)(packed >> START_LINE_SHIFT),
	};
}

int dwarf_names_find(struct dwarf_names *names, Dwarf_Die *die, struct dwarf_attributes *attributes,
		     bool is_plain_language, struct dwarf_name *name)
{
	Dwarf_Die origin;
	bool has_origin = find_origin(die, attributes, &origin);
	uint64_t key = (uintptr_t)(has_origin ? origin.addr : die->addr), known;
	struct dwarf_attributes looked_at;
	struct dwarf_name found;
	int err;

	if (hash_map_find(&names->known, key, &known)) {
		*name = unpack(known);
		return 0;
	}
	if (has_origin)
		dwarf_attributes_read(&looked_at, &origin);
	else
		looked_at = *attributes;
	err = add_name(names, &looked_at, is_plain_language, &found);
	if (err)
		return err;
	if (names->known.count >= KNOWN_MAX)
		dwarf_names_clear(names);
	if (hash_map_set(&names->known, key, pack(&found)))
		return fail(-ENOMEM, "no memory for names");
	*name = found;
	return 0;
}
