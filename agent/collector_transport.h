/* SPDX-License-Identifier: Apache-2.0 */
/** Options of the connection to a collector, or to a receiving agent, from the command line. */
#ifndef AGENT_COLLECTOR_TRANSPORT_H
#define AGENT_COLLECTOR_TRANSPORT_H

#include "agent/options.h"
#include "reporter/grpc_transport.h"

/** Options for grpc_transport_create(), borrowed from @collector. No method is set: ProfilesService/Export. */
struct grpc_transport_options
collector_transport_options(const struct collector_options *collector);

#endif
