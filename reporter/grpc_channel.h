/* SPDX-License-Identifier: Apache-2.0 */
/** A gRPC channel from the options of the transport: files of certificates, credentials, limits. */
#ifndef REPORTER_GRPC_CHANNEL_H
#define REPORTER_GRPC_CHANNEL_H

#include <grpc/grpc.h>
#include <stdint.h>

#include "reporter/grpc_transport.h"

/** What the files were when a channel was opened: a number over their inodes, sizes and times. */
uint64_t grpc_channel_files_state(const struct grpc_transport_options *options);

/**
 * Reads the files and makes a channel to @target (`dns:///host:port`), which connects when the first
 * call is made, and again by itself. -EINVAL with a text for users if a file cannot be used.
 */
int grpc_open_channel(const struct grpc_transport_options *options, const char *target,
		      grpc_channel **channel);

#endif
