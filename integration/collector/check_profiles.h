/* SPDX-License-Identifier: Apache-2.0 */
/** The rules of resources, scopes, profiles and samples: RULE_PRESENT to RULE_SAMPLES_ONCE. */
#ifndef INTEGRATION_COLLECTOR_CHECK_PROFILES_H
#define INTEGRATION_COLLECTOR_CHECK_PROFILES_H

#include "integration/collector/otlp_message.h"

enum { PROFILE_ID_BYTES = 16 };

/**
 * @now_ns is CLOCK_REALTIME. Of RULE_PROFILE_ID_ONCE it sees what is in this one request.
 * 0 or -ENOMEM.
 */
int check_profiles(const struct otlp_message *message, uint64_t now_ns, struct findings *findings);

/** All rules of a message: of the dictionary, of frames and of profiles. 0 or -ENOMEM. */
int check_message(const struct otlp_message *message, uint64_t now_ns, struct findings *findings);

#endif
