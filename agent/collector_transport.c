/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/collector_transport.h"

#include "build/version.h"

struct grpc_transport_options collector_transport_options(const struct collector_options *collector)
{
	return (struct grpc_transport_options){
		.address = collector->address,
		.is_plain = collector->disable_tls,
		.tls_ca = collector->tls_ca,
		.tls_cert = collector->tls_cert,
		.tls_key = collector->tls_key,
		.headers = &collector->headers,
		.user_agent = "allframes-agent/" AGENT_VERSION,
		.no_compression = collector->no_compression,
	};
}
