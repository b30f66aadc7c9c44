/* SPDX-License-Identifier: Apache-2.0 */
/** Sections of an ELF file as libelf reads them. */
#ifndef STACKDELTAS_TESTS_ORACLE_SECTIONS_H
#define STACKDELTAS_TESTS_ORACLE_SECTIONS_H

#include <gelf.h>
#include <string.h>

static const char *section_name(Elf *elf, const Elf64_Shdr *header)
{
	size_t names;

	if (!header || elf_getshdrstrndx(elf, &names))
		return NULL;
	return elf_strptr(elf, names, header->sh_name);
}

/* Returns the bytes of the section @name, and its header; NULL if there is none. */
static const Elf_Data *find_section(Elf *elf, const char *name, Elf64_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		const Elf64_Shdr *found = elf64_getshdr(section);
		const char *found_name = section_name(elf, found);

		if (!found_name || strcmp(found_name, name) != 0)
			continue;
		*header = *found;
		return elf_rawdata(section, NULL);
	}
	return NULL;
}

#endif
