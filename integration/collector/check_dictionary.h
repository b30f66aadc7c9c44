/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Checks the rules of the dictionary: RULE_TABLES to RULE_HOTTEST_FIRST, except those of resources.
 *
 * References to an element are counted as they are in the message: each index in a table's element,
 * a sample or a profile is one. So a stack of three samples has three references, and each of its
 * locations has one from it. If the elements with most references come first in a table, most
 * indices take one byte.
 */
#ifndef INTEGRATION_COLLECTOR_CHECK_DICTIONARY_H
#define INTEGRATION_COLLECTOR_CHECK_DICTIONARY_H

#include "integration/collector/otlp_message.h"

/** 0 or -ENOMEM. */
int check_dictionary(const struct otlp_message *message, struct findings *findings);

#endif
