/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The messages between the agent and a process that parses executables for it (elf_host.h). Both sides are of the same
 * build. Each of the sockets has one request at a time:
 *
 *	> struct elf_question, the path with its NUL, and the file's descriptor (and others, see elf_question_kind)
 *		< ELF_ANSWER_OPEN and a path	a debug file may be there
 *		> struct elf_reply, and the file's descriptor if there is one
 *		< ELF_ANSWER_KEY		rows may be stored with this key
 *		> struct elf_reply
 *	< ELF_ANSWER_DONE, and, if there is no error, the result: in the same packet if that has room, or else each of its parts
 *	  by message_send_all()
 */
#ifndef AGENT_RUNTIMES_ELF_PROTOCOL_H
#define AGENT_RUNTIMES_ELF_PROTOCOL_H

#include <limits.h>
#include <stdint.h>

#include "interpreters/language.h"
#include "lib/base/hash128.h"
#include "lib/base/message_socket.h"
#include "lib/elf/elf_image.h"
#include "lib/model/binary.h"

/** The only argument of the program. */
#define ELF_HOST_ARGUMENT "-parse-executables"

enum {
	/** One for identifying files at once, one for symbols, and one for each thread that may parse for long. */
	ELF_URGENT,
	ELF_SYMBOLS,
	ELF_FIRST_PATIENT,
	ELF_CHANNEL_COUNT = 5,
	ELF_QUESTION_FDS_MAX = 3,
	/** Limit of what is written for one file. More is made by a process for that file. */
	ELF_SYMBOL_CACHE_MAX_BYTES = 8 << 20,
	ELF_ERROR_BYTES = 256,
	/** Limit of a language's data in struct elf_runtime. */
	ELF_RUNTIME_DATA_BYTES = 4096,
	ELF_FACT_KEY_BYTES = 64,
};

enum elf_question_kind {
	/** The result is a struct elf_identity. */
	ELF_QUESTION_IDENTIFY,
	/** The result is the page index, the rows and the rules of stack deltas, as in memory. */
	ELF_QUESTION_LOAD,
	/** The result is a struct elf_runtime. */
	ELF_QUESTION_PROBE,
	/** The file is a copy of code. The result is that of ELF_QUESTION_LOAD, and the checks of the pages. */
	ELF_QUESTION_COPY,
	/** Two or three descriptors: of the file, of where its symbol cache is written, and of its debug file if there is one. */
	ELF_QUESTION_SYMBOLS,
};

struct elf_question {
	/** enum elf_question_kind */
	uint32_t kind;
	/** ELF_QUESTION_PROBE */
	uint32_t languages;
	/** ELF_QUESTION_LOAD */
	uint64_t max_work_bytes;
	uint64_t max_code_bytes;
	/** ELF_QUESTION_COPY: the code's address and size. */
	uint64_t code_address;
	uint64_t code_bytes;
	uint32_t may_search;
	uint32_t has_cache;
	/** The thread that asks has real-time priority. */
	uint32_t is_urgent;
	uint32_t reserved;
	/** Seed of the keys. */
	uint64_t seed;
	/** ELF_QUESTION_SYMBOLS: the key of the symbol cache. */
	struct hash128 key;
};

enum elf_answer_kind {
	ELF_ANSWER_DONE,
	ELF_ANSWER_OPEN,
	ELF_ANSWER_KEY,
};

/** Only the fields that belong to the kind are set. */
struct elf_answer {
	/** enum elf_answer_kind */
	uint32_t kind;
	int32_t err;
	/** ELF_ANSWER_OPEN: enum debug_file_root, and a path below it. */
	uint32_t root;
	/** ELF_ANSWER_DONE of ELF_QUESTION_LOAD and ELF_QUESTION_COPY. */
	uint32_t page_count;
	uint32_t row_count;
	uint32_t rule_count;
	uint64_t text_start;
	uint32_t lacks_code;
	/** The rows are those that the agent has found by the last key. */
	uint32_t is_cached;
	/** ELF_ANSWER_DONE of ELF_QUESTION_PROBE, also with an error. */
	uint32_t copies_stacks;
	uint32_t reserved;
	/** ELF_ANSWER_DONE of ELF_QUESTION_SYMBOLS: bytes that were written, and the CPU time of the thread. */
	uint64_t symbol_bytes;
	uint64_t cpu_ns;
	/** ELF_ANSWER_KEY */
	struct hash128 key;
	/** The path, or the text of the error; ends in a NUL. */
	char text[PATH_MAX];
};

_Static_assert(sizeof(struct elf_answer) <= MESSAGE_MAX_BYTES, "an answer fits into a packet");

/** 0, or the error with which no file was opened, or no rows were found. */
struct elf_reply {
	int32_t err;
};

struct elf_fact {
	char key[ELF_FACT_KEY_BYTES];
	uint32_t is_of_binary;
	char text[PROGRAM_FACT_MAX_BYTES + 1];
};

/** struct binary and struct elf_image, as far as executable_file_identify() fills them. */
struct elf_identity {
	struct file_id file_id;
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint32_t build_id_bytes;
	uint32_t machine;
	uint64_t memory_start;
	uint64_t memory_limit;
	uint64_t file_offset;
	uint64_t size;
	uint32_t segment_count;
	uint32_t has_facts;
	uint32_t languages;
	uint32_t fact_count;
	struct elf_fact facts[PROGRAM_FACTS_MAX];
	struct elf_segment segments[ELF_MAX_SEGMENTS];
};

/** struct runtime_file. */
struct elf_runtime {
	uint32_t language;
	uint32_t range_count;
	char version[sizeof(((struct runtime_file *)NULL)->version)];
	struct code_range ranges[LOOP_RANGES_MAX];
	uint32_t steps_without_rules;
	uint32_t attaches_at_once;
	uint32_t with_signatures;
	uint32_t data_bytes;
	uint8_t data[ELF_RUNTIME_DATA_BYTES];
};

#endif
