/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Recognizes PHP in a file, and finds what attach needs: the programs php, php-fpm, php-cgi, and libphp, which is a module of
 * Apache or linked to programs that embed it. A file is PHP if it exports execute_ex() and zend_vm_kind(), as all do for extensions; a few small reads exclude other files.
 *
 * The version of the Zend Engine is in a text of the file (get_zend_version()). Layouts are checked against code.
 */
#ifndef INTERPRETERS_PHP_PHP_PROBE_H
#define INTERPRETERS_PHP_PHP_PROBE_H

#include "interpreters/language.h"
#include "interpreters/php/php_code.h"
#include "interpreters/php/php_layout.h"

enum {
	/** Bytes of the text with the version to compare; an example is "Zend Engine v4.2.32, Copyright". */
	PHP_VERSION_TEXT_BYTES = 24,
};

/** Addresses are ELF virtual addresses. */
struct php_file {
	struct runtime_file file;
	const struct php_layout *layout;
	char version_text[PHP_VERSION_TEXT_BYTES];
	/** A variable with a pointer to the same text in the process. */
	uint64_t version_pointer;
	/** Address of the struct executor_globals; with threads (ZTS) of the variable with its offset in a thread's memory. */
	uint64_t globals;
	/** In a library the slot with that address, since a program may have a copy that is used instead; else 0. */
	uint64_t globals_slot;
	/** With threads the function that returns a thread's memory; else 0. */
	uint64_t thread_memory;
	struct php_code code;
};

/** As language_ops.probe, for @language. */
int php_probe(const struct language *language, const struct elf_image *image,
	      struct php_file **file);
void php_file_release(struct php_file *file);

#endif
