/* SPDX-License-Identifier: Apache-2.0 */
/** gRPC's C core, set up for the sender and the receiver. */
#ifndef REPORTER_GRPC_LIBRARY_H
#define REPORTER_GRPC_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Starts the C core, or counts one more user; each user calls grpc_library_deinit(). The C core's
 * output on standard error goes to the log as debug lines, and host names are resolved by the
 * system's resolver.
 */
void grpc_library_init(void);

/**
 * The last user's call ends the threads of the C core. This takes 10 s if a peer does not read what
 * is written to it, so the threads are left running after a short while (grpc_library_is_left()).
 */
void grpc_library_deinit(void);

/** Replaces grpc_library_deinit() for a user with a call that does not end. */
void grpc_library_leave(void);

/**
 * True if threads of the C core may still run. The process must then end by _exit(), which does not
 * destroy what they use.
 */
bool grpc_library_is_left(void);

/** How many times a listener of the C core found no free descriptor for a connection and ended. */
uint64_t grpc_library_accept_failures(void);

#endif
