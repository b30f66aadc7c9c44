/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The attributes of a DIE that functions are known by, in one pass: libdw passes over all of a DIE for
 * each that it is asked for.
 */
#ifndef SYMBOLS_DWARF_DWARF_ATTRIBUTES_H
#define SYMBOLS_DWARF_DWARF_ATTRIBUTES_H

#include <elfutils/libdw.h>
#include <stdint.h>

enum dwarf_attribute {
	DWARF_LINKAGE_NAME,
	/** What compilers had for the linkage name before DWARF 4. */
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

struct dwarf_attributes {
	/** A bit for each that the DIE has. */
	uint32_t present;
	Dwarf_Attribute items[DWARF_ATTRIBUTE_COUNT];
};

/** What stands behind damage is not there. Valid as long as the Dwarf of @die. */
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

#endif
