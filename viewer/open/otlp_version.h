/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Recognises OTLP profiles of versions before 1.10, whose messages have the same names but other fields: read as 1.10 they
 * would be refused as damaged, or have other numbers.
 */
#ifndef VIEWER_OPEN_OTLP_VERSION_H
#define VIEWER_OPEN_OTLP_VERSION_H

#include <stddef.h>

/** 0, -ENOMEM, or -EOPNOTSUPP with a text for users that names the version. Damaged bytes are left to the reader. */
int otlp_version_check(const void *bytes, size_t count);

#endif
