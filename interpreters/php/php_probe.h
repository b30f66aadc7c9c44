/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Is a file PHP, and what attach has to know of it: the programs php, php-fpm, php-cgi. A file is PHP if it exports
 * execute_ex() and zend_vm_kind(), as all do for their extensions; for others a few small reads say no.
 *
 * The version is that of the Zend Engine, in a text of the file (get_zend_version()). Layouts are checked against code.
 */
#ifndef INTERPRETERS_PHP_PHP_PROBE_H
#define INTERPRETERS_PHP_PHP_PROBE_H

#include "interpreters/language.h"
#include "interpreters/php/php_code.h"
#include "interpreters/php/php_layout.h"

enum {
	/** What is compared of the text with the version, such as "Zend Engine v4.2.32, Copyright". */
	PHP_VERSION_TEXT_BYTES = 24,
};

/** Addresses are ELF virtual addresses. */
struct php_file {
	struct runtime_file file;
	const struct php_layout *layout;
	char version_text[PHP_VERSION_TEXT_BYTES];
	/** A variable with a pointer to the same text in the process. */
	uint64_t version_pointer;
	/** The struct executor_globals. */
	uint64_t globals;
	struct php_code code;
};

/** As language_ops.probe, for @language. */
int php_probe(const struct language *language, const struct elf_image *image,
	      struct php_file **file);
void php_file_release(struct php_file *file);

#endif
