/* SPDX-License-Identifier: Apache-2.0 */
/** gRPC's C core, as those who send and those who receive want it. */
#ifndef REPORTER_GRPC_LIBRARY_H
#define REPORTER_GRPC_LIBRARY_H

#include <stdint.h>

/**
 * Starts it, or counts one user more; grpc_shutdown() ends each. What it would write on standard error goes to the log
 * as debug lines, and hosts are found by the system's own way.
 */
void grpc_library_init(void);

/** How often a listener of it found no descriptor for a connection, and ended. */
uint64_t grpc_library_accept_failures(void);

#endif
