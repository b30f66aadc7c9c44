/* SPDX-License-Identifier: Apache-2.0 */
/** The connection to a collector, or to an agent that receives, as the command line says it. */
#ifndef AGENT_COLLECTOR_TRANSPORT_H
#define AGENT_COLLECTOR_TRANSPORT_H

#include "agent/options.h"
#include "reporter/grpc_transport.h"

/** For grpc_transport_create(); borrows from @collector. No method: ProfilesService/Export. */
struct grpc_transport_options
collector_transport_options(const struct collector_options *collector);

#endif
