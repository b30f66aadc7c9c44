/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Is a file CPython, and what attach has to know of it: libpython, a python linked statically, or a
 * program that has one built in. It is one if it exports the loop, as all of them do for their
 * extension modules; for others a few small reads say no. Debug information and .symtab are not
 * looked at.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_PROBE_H
#define INTERPRETERS_PYTHON_PYTHON_PROBE_H

#include "ebpf/abi/python.h"
#include "interpreters/language.h"

enum {
	/** Text of a version, such as "3.10.13+", with its NUL. */
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
	/** What stands at version_address in the file, and has to in the process. */
	uint64_t version_address;
	char version_text[PYTHON_VERSION_TEXT_BYTES];
	uint32_t version_bytes;
	/** Py_TRACE_REFS. */
	bool has_object_list;
	uint64_t runtime;
	/** Before _PyRuntime: the pointer to the first interpreter, which PyInterpreterState_Head() gives. */
	uint64_t first_interpreter;
	/** PyGILState_GetThisThreadState(), _PyThreadState_GetCurrent(). */
	uint64_t thread_state_function;
	uint64_t current_thread_state_function;
	/** _Py_InitCleanup. */
	uint64_t hidden_code;
	/** Of versions without _Py_DebugOffsets. */
	struct python_code_range unpushed[PYTHON_MAX_RANGES];
	uint8_t saved_bytes;
};

/** As language_ops.probe and release, for @interpreter. */
int python_probe(const struct language *language, const struct elf_image *image,
		 struct python_file **file);
void python_file_release(struct python_file *file);

#endif
