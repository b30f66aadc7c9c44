/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The name of a Method of HotSpot, as in a stack trace of Java: "java.util.HashMap.put". The JVM adds a memory
 * address to the name of a hidden class. It is left out, because it differs in each run and samples of the same
 * class would never add up.
 *
 * Source: share/oops/method.hpp, constMethod.hpp, constantPool.hpp, symbol.hpp, klass.cpp
 * (Klass::external_name) of OpenJDK 8 to 27; names are in "modified UTF-8" (Java Virtual Machine
 * Specification, 4.4.7).
 */
#ifndef INTERPRETERS_JAVA_JAVA_NAMES_H
#define INTERPRETERS_JAVA_JAVA_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpreters/java/java_layout.h"
#include "interpreters/language.h"
#include "lib/host/remote_memory.h"

/** A name with its NUL. */
typedef char java_text[FRAME_NAME_MAX_BYTES + 1];

/**
 * Reads the name of the Method at @method as UTF-8, cut at a character. With @has_signature it includes the types
 * of arguments and result as in the class file, "(ILjava/lang/String;)V". -EBADMSG if there is no name, -EFAULT,
 * -ESRCH.
 */
int java_method_name(const struct java_layout *layout, struct remote_memory *memory,
		     uint64_t method, bool has_signature, java_text text);

/** Reads the text in entry @index of the ConstantPool at @constants; errors as above. */
int java_constant_text(const struct java_layout *layout, struct remote_memory *memory,
		       uint64_t constants, uint64_t index, java_text text);

/**
 * Converts @size bytes of modified UTF-8 to UTF-8 in @to, which has @capacity bytes. Returns the length, and writes
 * no NUL. Invalid characters become U+FFFD.
 */
size_t java_decode_text(const uint8_t *bytes, size_t size, char *to, size_t capacity);

#endif
