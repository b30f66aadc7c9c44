/* SPDX-License-Identifier: Apache-2.0 */
/** Files of certificates and keys, as gRPC takes them: PEM text. */
#ifndef REPORTER_GRPC_PEM_H
#define REPORTER_GRPC_PEM_H

#include <stddef.h>
#include <stdint.h>

/**
 * Reads @path into *@text, which the caller frees. @kind ("client certificate") is for the error: -EINVAL with a text
 * for users for what cannot be read or holds nothing that begins with "-----BEGIN ", -ENOMEM.
 */
int grpc_pem_read(const char *path, const char *kind, char **text);

/** What the files are now: a number over their inodes, sizes and times. NULL among @paths is none. */
uint64_t grpc_pem_files_state(const char *const *paths, size_t count);

#endif
