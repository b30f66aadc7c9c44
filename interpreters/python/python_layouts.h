/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Offsets of the fields of CPython's objects, by version and kind of build. They were taken from the debug
 * information of builds of each version, and are equal in all patch releases of a minor version. x86-64 and
 * arm64 have the same, since all fields are aligned to their size. From 3.13 on the runtime has a table of its own
 * (_Py_DebugOffsets), which is used instead.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_LAYOUTS_H
#define INTERPRETERS_PYTHON_PYTHON_LAYOUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpreters/python/python_lines.h"

/** Versions are numbers such as 0x030d for 3.13. */
#define PYTHON_VERSION(major, minor) ((major) << 8 | (minor))

enum {
	PYTHON_OLDEST = PYTHON_VERSION(2, 7),
	/** First version with _Py_DebugOffsets. */
	PYTHON_FIRST_WITH_OFFSETS = PYTHON_VERSION(3, 13),
	PYTHON_NEWEST = PYTHON_VERSION(3, 15),
	/** Number of bytes of _Py_DebugOffsets that are read. */
	PYTHON_DEBUG_OFFSETS_BYTES = 1024,
	/** Limit of the part of a code object before its instructions. */
	PYTHON_CODE_MAX_BYTES = 256,
};

/** PyCodeObject. */
struct python_code_layout {
	/** All fields below are in the first @bytes bytes. */
	uint16_t bytes;
	uint16_t first_line;
	uint16_t filename;
	uint16_t name;
	/** 0 before 3.11, which has no such field. */
	uint16_t qualified_name;
	uint16_t line_table;
	/** The instructions themselves from 3.11 on; before, a pointer to a bytes object with them. */
	uint16_t instructions;
};

/** PyUnicodeObject. */
struct python_string_layout {
	/** Names are bytes, as in 2.7. */
	bool is_bytes;
	uint16_t length;
	uint16_t state;
	/** Shift of the kind in the state. */
	uint8_t kind_shift;
	/** sizeof(PyASCIIObject) and sizeof(PyCompactUnicodeObject), which the characters follow. */
	uint16_t ascii_bytes;
	uint16_t compact_bytes;
	/** wstr and wstr_length up to 3.11, else 0. */
	uint16_t wide;
	uint16_t wide_length;
};

/** PyBytesObject, or PyStringObject of 2.7. */
struct python_bytes_layout {
	uint16_t size;
	uint16_t data;
};

/** Thread states, and the chain of frames. */
struct python_frame_layout {
	/** PyThreadState: the innermost frame; in versions with thread_cframe see there. */
	uint16_t thread_frame;
	/** PyThreadState.cframe of 3.10 to 3.12, and current_frame in it; else 0. */
	uint16_t thread_cframe;
	uint16_t cframe_frame;
	uint16_t cframe_previous;
	/** PyFrameObject up to 3.10, _PyInterpreterFrame from 3.11 on. */
	uint16_t previous;
	uint16_t code;
	/** f_lasti, prev_instr or instr_ptr, by version. */
	uint16_t instruction;
	/** From 3.11 on. */
	uint16_t owner;
	/** Index of the copy of the instructions, in free-threaded builds from 3.14 on; else 0. */
	uint16_t copy_index;
	/** Array of copies in the code object, in free-threaded builds from 3.14 on; else 0. */
	uint16_t code_copies;
};

/** Lists of interpreters and of their thread states. */
struct python_thread_layout {
	/** The first interpreter in _PyRuntime; 0 before 3.7, which has no _PyRuntime. */
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
	/** Number of bytes that a unit of a frame's position stands for. */
	uint8_t position_bytes;
	/** PyObject.ob_refcnt; in free-threaded builds ob_ref_local, which ob_ref_shared follows. */
	uint16_t references;
	struct python_code_layout code;
	struct python_string_layout string;
	struct python_bytes_layout bytes;
	struct python_frame_layout frame;
	struct python_thread_layout thread;
};

/** True for the known versions from PYTHON_OLDEST to PYTHON_NEWEST. */
bool python_version_is_known(uint16_t version);

/**
 * Sets the layout of @version, which is below PYTHON_FIRST_WITH_OFFSETS. @has_object_list: the build has a list of all
 * objects (Py_TRACE_REFS, debug builds up to 3.7). -EOPNOTSUPP.
 */
int python_layout_init(struct python_layout *layout, uint16_t version, bool has_object_list);

/**
 * Sets the layout from the first PYTHON_DEBUG_OFFSETS_BYTES of _PyRuntime, from 3.13 on. -EAGAIN: the table is not
 * filled in yet; -EBADMSG: it is invalid or of another version than @version; -EOPNOTSUPP.
 */
int python_layout_init_offsets(struct python_layout *layout, uint16_t version,
			       const uint8_t offsets[PYTHON_DEBUG_OFFSETS_BYTES]);

#endif
