/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Recognizes CPython in a file, and finds what attach needs: libpython, a statically linked python, or a program with
 * an embedded one. A file is CPython if it exports the eval loop, as all of them do for extension modules; a few small
 * reads exclude other files. Debug information and .symtab are not read.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_PROBE_H
#define INTERPRETERS_PYTHON_PYTHON_PROBE_H

#include "ebpf/abi/python.h"
#include "interpreters/language.h"

enum {
	/** Limit of the text of a version, such as "3.10.13+", with its NUL. */
	PYTHON_VERSION_TEXT_BYTES = 16,
	/** Py_GetVersion() is a small function. */
	PYTHON_GET_VERSION_MAX_BYTES = 256,
	/** PyInterpreterState_Head() is a load and a return. */
	PYTHON_HEAD_BYTES = 32,
};

/** Addresses are ELF virtual addresses; 0: there is none. */
struct python_file {
	struct runtime_file file;
	uint16_t machine;
	/** As PYTHON_VERSION(). */
	uint16_t version;
	/** The bytes at version_address in the file; the process must have the same. */
	uint64_t version_address;
	char version_text[PYTHON_VERSION_TEXT_BYTES];
	uint32_t version_bytes;
	/** The build has Py_TRACE_REFS. */
	bool has_object_list;
	uint64_t runtime;
	/** Without _PyRuntime: the pointer to the first interpreter, which PyInterpreterState_Head() returns. */
	uint64_t first_interpreter;
	/** PyGILState_GetThisThreadState(), _PyThreadState_GetCurrent(). */
	uint64_t thread_state_function;
	uint64_t current_thread_state_function;
	/** _Py_InitCleanup. */
	uint64_t hidden_code;
	/** Set for versions without _Py_DebugOffsets. */
	struct python_code_range unpushed[PYTHON_MAX_RANGES];
	uint8_t saved_bytes;
};

/** As language_ops.probe and release, for @interpreter. */
int python_probe(const struct language *language, const struct elf_image *image,
		 struct python_file **file);
void python_file_release(struct python_file *file);

/** Whether the read-only data of a program has two texts that every CPython has. */
bool python_has_texts(const void *texts, size_t bytes);

/** As language_ops.copies_stacks: true for greenlet. */
bool python_copies_stacks(const struct elf_image *image);

#endif
