/* SPDX-License-Identifier: Apache-2.0 */
/** Files of certificates and keys in the form that gRPC takes: PEM text. */
#ifndef REPORTER_GRPC_PEM_H
#define REPORTER_GRPC_PEM_H

#include <stddef.h>
#include <stdint.h>

/**
 * Reads @path into *@text, which the caller frees. @kind ("client certificate") goes into the error
 * text. -EINVAL with a text for users if the file cannot be read or has no "-----BEGIN ", -ENOMEM.
 */
int grpc_pem_read(const char *path, const char *kind, char **text);

/**
 * The current state of the files: a hash of their inodes, sizes and times. NULL entries of @paths
 * are skipped.
 */
uint64_t grpc_pem_files_state(const char *const *paths, size_t count);

#endif
