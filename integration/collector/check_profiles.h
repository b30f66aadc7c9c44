/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Checks the rules of resources, scopes, profiles and samples: RULE_PRESENT to RULE_SAMPLES_ONCE.
 */
#ifndef INTEGRATION_COLLECTOR_CHECK_PROFILES_H
#define INTEGRATION_COLLECTOR_CHECK_PROFILES_H

#include "integration/collector/otlp_message.h"

enum { PROFILE_ID_BYTES = 16 };

/**
 * @now_ns is CLOCK_REALTIME. RULE_PROFILE_ID_ONCE is checked within this request only. 0 or
 * -ENOMEM.
 */
int check_profiles(const struct otlp_message *message, uint64_t now_ns, struct findings *findings);

/**
 * Checks all rules of a message: those of the dictionary, of frames and of profiles. 0 or -ENOMEM.
 */
int check_message(const struct otlp_message *message, uint64_t now_ns, struct findings *findings);

#endif
