/* SPDX-License-Identifier: Apache-2.0 */
/** A gRPC channel from the options of the transport: files of certificates, credentials, limits. */
#ifndef REPORTER_GRPC_CHANNEL_H
#define REPORTER_GRPC_CHANNEL_H

#include <grpc/grpc.h>

#include "reporter/grpc_transport.h"

/**
 * Reads the files and makes a channel to @target (`dns:///host:port`), which connects when the first call is made. -EINVAL with a
 * text for users if a file cannot be used.
 */
int grpc_open_channel(const struct grpc_transport_options *options, const char *target,
		      grpc_channel **channel);

#endif
