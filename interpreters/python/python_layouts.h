/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where the fields of CPython's objects lie, by version and kind of build. Measured from the debug
 * information of builds of each version (x86-64; arm64 is alike, as all fields have their own
 * sizes as alignment) and equal in all patch releases of a minor version; from 3.13 on the runtime
 * has a table itself (_Py_DebugOffsets), and that is taken.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_LAYOUTS_H
#define INTERPRETERS_PYTHON_PYTHON_LAYOUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpreters/python/python_lines.h"

/** Versions as 3.13 is 0x030d. */
#define PYTHON_VERSION(major, minor) ((major) << 8 | (minor))

enum {
	PYTHON_OLDEST = PYTHON_VERSION(2, 7),
	/** Of those that have _Py_DebugOffsets. */
	PYTHON_FIRST_WITH_OFFSETS = PYTHON_VERSION(3, 13),
	PYTHON_NEWEST = PYTHON_VERSION(3, 15),
	/** Of _Py_DebugOffsets; what is read of it. */
	PYTHON_DEBUG_OFFSETS_BYTES = 1024,
	/** Of a code object, up to its instructions. */
	PYTHON_CODE_MAX_BYTES = 256,
};

/** PyCodeObject. */
struct python_code_layout {
	/** All fields below lie in the first @bytes bytes. */
	uint16_t bytes;
	uint16_t first_line;
	uint16_t filename;
	uint16_t name;
	/** 0: there is none, before 3.11. */
	uint16_t qualified_name;
	uint16_t line_table;
	/** The instructions themselves from 3.11 on, before that the bytes object of them. */
	uint16_t instructions;
};

/** PyUnicodeObject. */
struct python_string_layout {
	/** 2.7: names are bytes. */
	bool is_bytes;
	uint16_t length;
	uint16_t state;
	/** Of the kind in the state. */
	uint8_t kind_shift;
	/** sizeof(PyASCIIObject) and sizeof(PyCompactUnicodeObject): there the characters begin. */
	uint16_t ascii_bytes;
	uint16_t compact_bytes;
	/** Up to 3.11: wstr and wstr_length; else 0. */
	uint16_t wide;
	uint16_t wide_length;
};

/** PyBytesObject, PyStringObject of 2.7. */
struct python_bytes_layout {
	uint16_t size;
	uint16_t data;
};

/** Thread states, and frames as they are chained. */
struct python_frame_layout {
	/** PyThreadState: the innermost frame, or up to 3.12 the cframe that has it. */
	uint16_t thread_frame;
	/** PyThreadState.cframe of 3.10 to 3.12, and current_frame in it; else 0. */
	uint16_t thread_cframe;
	uint16_t cframe_frame;
	uint16_t cframe_previous;
	/** PyFrameObject up to 3.10, _PyInterpreterFrame from 3.11 on. */
	uint16_t previous;
	uint16_t code;
	/** f_lasti, prev_instr or instr_ptr. */
	uint16_t instruction;
	/** 3.11 on. */
	uint16_t owner;
	/** Free-threaded from 3.14 on: the index of the copy of the instructions; else 0. */
	uint16_t copy_index;
	/** Free-threaded from 3.14 on, in the code object: the array of copies; else 0. */
	uint16_t code_copies;
};

/** Lists of interpreters and of their thread states. */
struct python_thread_layout {
	/** In _PyRuntime: the first interpreter; 0: there is no _PyRuntime, before 3.7. */
	uint16_t interpreters;
	/** PyInterpreterState */
	uint16_t interpreter_next;
	uint16_t interpreter_threads;
	/** PyThreadState */
	uint16_t next;
	uint16_t interpreter;
	uint16_t id;
};

struct python_layout {
	uint16_t version;
	bool is_free_threaded;
	enum python_line_table lines;
	/** Bytes that one step of a frame's position is. */
	uint8_t position_bytes;
	/** PyObject.ob_refcnt; in free-threaded builds ob_ref_local, with ob_ref_shared behind it. */
	uint16_t references;
	struct python_code_layout code;
	struct python_string_layout string;
	struct python_bytes_layout bytes;
	struct python_frame_layout frame;
	struct python_thread_layout thread;
};

/** True for those between PYTHON_OLDEST and PYTHON_NEWEST that are known. */
bool python_version_is_known(uint16_t version);

/**
 * The layout of @version, below PYTHON_FIRST_WITH_OFFSETS; @has_object_list: of a build whose objects
 * are all in a list (Py_TRACE_REFS, debug builds up to 3.7). -EOPNOTSUPP.
 */
int python_layout_init(struct python_layout *layout, uint16_t version, bool has_object_list);

/**
 * The layout from the first PYTHON_DEBUG_OFFSETS_BYTES of _PyRuntime, from 3.13 on. -EAGAIN: it is
 * not filled in yet; -EBADMSG: it makes no sense, or is not that of @version; -EOPNOTSUPP.
 */
int python_layout_init_offsets(struct python_layout *layout, uint16_t version,
			       const uint8_t offsets[PYTHON_DEBUG_OFFSETS_BYTES]);

#endif
