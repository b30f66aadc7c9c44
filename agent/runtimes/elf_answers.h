/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Checks the answers of a process that parses executables (elf_protocol.h), and unpacks them. They come from a program of ours
 * that has read hostile files, so nothing in them is trusted. All functions return 0, -EBADMSG or -ENOMEM.
 */
#ifndef AGENT_RUNTIMES_ELF_ANSWERS_H
#define AGENT_RUNTIMES_ELF_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

#include "agent/runtimes/elf_protocol.h"
#include "lib/model/stack_deltas.h"

/** @size is the size of the message. */
int elf_identity_check(const struct elf_identity *identity, size_t size);

/** The results of executable_file_identify(), from an identity that was checked. */
int elf_identity_unpack(const struct elf_identity *identity, struct binary *binary,
			struct program_facts *facts, struct elf_image *segments);

/**
 * Allocates the arrays that @answer announces, with @has_checks also those of a copy of code; the caller fills them, and then
 * calls stack_deltas_check().
 */
int elf_rows_prepare(const struct elf_answer *answer, bool has_checks, struct stack_deltas *deltas);

/** @languages is the set of languages that was asked for. */
int elf_runtime_check(const struct elf_runtime *found, uint32_t languages);

/** A copy (runtime_file.is_copy) of what was checked, which free() frees. @language is the language with its index. */
int elf_runtime_unpack(const struct elf_runtime *found, const struct language *language,
		       struct runtime_file **file);

#endif
