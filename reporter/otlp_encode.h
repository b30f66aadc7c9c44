/* SPDX-License-Identifier: Apache-2.0 */
/** Encodes a draft. Only this file uses the generated code of the OTLP messages. */
#ifndef REPORTER_OTLP_ENCODE_H
#define REPORTER_OTLP_ENCODE_H

#include "reporter/otlp_request.h"

#define OTLP_SCOPE_NAME "allframes-agent"

enum { OTLP_PROFILE_ID_BYTES = 16 };

/**
 * Encodes @draft, whose dictionary has indexes, as ProfilesData. Every profile gets its own
 * id. -ENOMEM.
 */
int otlp_encode(const struct otlp_draft *draft, struct otlp_request *request);

#endif
