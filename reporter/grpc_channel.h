/* SPDX-License-Identifier: Apache-2.0 */
/** Opens a gRPC channel from the transport's options: certificate files, credentials, limits. */
#ifndef REPORTER_GRPC_CHANNEL_H
#define REPORTER_GRPC_CHANNEL_H

#include <grpc/grpc.h>
#include <stdint.h>

#include "reporter/grpc_transport.h"

/**
 * The state of the certificate files when a channel was opened: a hash of their inodes, sizes and
 * times.
 */
uint64_t grpc_channel_files_state(const struct grpc_transport_options *options);

/**
 * Reads the files and makes a channel to @target (`dns:///host:port`). The channel connects at the
 * first call and reconnects by itself. -EINVAL with a text for users if a file cannot be used.
 */
int grpc_open_channel(const struct grpc_transport_options *options, const char *target,
		      grpc_channel **channel);

#endif
