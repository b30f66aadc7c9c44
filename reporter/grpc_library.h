/* SPDX-License-Identifier: Apache-2.0 */
/** gRPC's C core, as those who send and those who receive want it. */
#ifndef REPORTER_GRPC_LIBRARY_H
#define REPORTER_GRPC_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Starts it, or counts one user more; grpc_library_deinit() ends each. What it would write on standard error goes to the log
 * as debug lines, and hosts are found by the system's own way.
 */
void grpc_library_init(void);

/**
 * The last one ends its threads, which takes the C core 10 s where a peer does not read what is written to it. They are
 * left behind after a short while (grpc_library_is_left()).
 */
void grpc_library_deinit(void);

/** For a user with a call that does not end: in the place of grpc_library_deinit(). */
void grpc_library_leave(void);

/** Whether threads of the C core may still run: the process is to be ended by _exit(), which does not destroy what they use. */
bool grpc_library_is_left(void);

/** How often a listener of it found no descriptor for a connection, and ended. */
uint64_t grpc_library_accept_failures(void);

#endif
