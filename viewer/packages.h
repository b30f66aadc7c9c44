/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The package of a function, as its language has packages: found by the texts that are known of the function alone, so it is
 * found for opened profiles too.
 */
#ifndef VIEWER_PACKAGES_H
#define VIEWER_PACKAGES_H

#include <stdint.h>

#include "lib/base/text_builder.h"

/** A function's texts; "" if unknown. */
struct packaged_function {
	/** enum text_kind */
	uint8_t kind;
	const char *name;
	/** Its source file, else its binary. */
	const char *file;
	/** Path of its binary, or the kernel's module. */
	const char *binary;
};

/**
 * Appends the name of the binary's file. Code in no binary has the name of its kind in brackets, such as "[java]".
 */
void append_binary_name(struct text_builder *text, const struct packaged_function *function);

/**
 * Appends the package: that of a Go or Java function's name ("net/http", "java.util"), the outermost namespace of a C++ or Rust
 * function's ("std", "tokio"), the installed package or else the folder of a script's file ("numpy", "/srv/app"). What has none of
 * these gets its append_binary_name().
 */
void append_package(struct text_builder *text, const struct packaged_function *function);

#endif
