/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/dwarf/dwarf_attributes.h"

#include <dwarf.h>

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
		return DWARF_RANGES;
	case DW_AT_call_file:
		return DWARF_CALL_FILE;
	case DW_AT_call_line:
		return DWARF_CALL_LINE;
	default:
		return DWARF_ATTRIBUTE_COUNT;
	}
}

/* The first of several counts, as for libdw. */
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
		/* The same by the name that it had before DWARF 5, where the number is as long as the unit has them. */
		if (!dwarf_cu_die(attribute->cu, &unit, NULL, NULL, NULL, &offset_bytes, NULL,
				  NULL) ||
		    offset_bytes != (attribute->form == DW_FORM_ref_sup4 ? 4 : 8))
			return NULL;
		reference.form = DW_FORM_GNU_ref_alt;
	}
	return dwarf_formref_die(&reference, die);
}
