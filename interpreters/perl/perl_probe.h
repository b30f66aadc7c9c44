/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Recognizes Perl in a file, and finds what attach needs: perl, and libperl. A file is Perl if it exports perl_alloc() and
 * Perl_runops_standard(), as all do for extensions; a few small reads exclude other files.
 *
 * Layouts are checked against code. Functions that only some versions export are found by the table of ops, which all export
 * (PL_ppaddr). A Perl without threads exports the variables that are its interpreter.
 */
#ifndef INTERPRETERS_PERL_PERL_PROBE_H
#define INTERPRETERS_PERL_PERL_PROBE_H

#include "ebpf/abi/perl.h"
#include "interpreters/language.h"
#include "interpreters/perl/perl_layout.h"

/** The variables that an unwind reads of an interpreter, as in struct perl_process. */
enum perl_variable_index {
	PERL_VARIABLE_OP,
	PERL_VARIABLE_COP,
	PERL_VARIABLE_STACK,
	PERL_VARIABLE_SAVED,
	PERL_VARIABLE_SAVED_COUNT,
	PERL_VARIABLE_RUN,
	PERL_VARIABLE_COUNT,
};

/** Addresses are ELF virtual addresses. */
struct perl_file {
	struct runtime_file file;
	uint16_t machine;
	const struct perl_layout *layout;
	/** Variables: the pthread key of the interpreter (PL_thr_key), and the first interpreter (PL_curinterp). */
	uint64_t key;
	uint64_t first_interpreter;
	/** Without threads: the variables themselves, and in a library the slots with their addresses. */
	bool is_threaded;
	struct perl_variable {
		uint64_t address;
		uint64_t slot;
	} variables[PERL_VARIABLE_COUNT];
	/** As in struct perl_process. */
	uint64_t loop;
	uint64_t loop_return;
	struct perl_code_range calling[PERL_CALLING_MAX];
	struct perl_code_range evaluating;
	struct perl_code_range running;
	struct perl_code_range catching;
	struct perl_code_range leaving[PERL_LEAVING_MAX];
	struct perl_code_range entering;
	struct perl_code_range replacing;
	struct perl_code_range dying;
};

/** As language_ops.probe, for @language. */
int perl_probe(const struct language *language, const struct elf_image *image,
	       struct perl_file **file);
void perl_file_release(struct perl_file *file);

#endif
