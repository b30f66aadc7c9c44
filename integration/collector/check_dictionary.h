/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The rules of the dictionary, RULE_TABLES to RULE_HOTTEST_FIRST but for those of resources.
 *
 * The references to an element are counted as they stand in the message: an index of a table's
 * element, of a sample or of a profile is one, so a stack of three samples has three and its
 * locations have one from it. In a table whose elements with most references come first, most
 * indices take one byte.
 */
#ifndef INTEGRATION_COLLECTOR_CHECK_DICTIONARY_H
#define INTEGRATION_COLLECTOR_CHECK_DICTIONARY_H

#include "integration/collector/otlp_message.h"

/** 0 or -ENOMEM. */
int check_dictionary(const struct otlp_message *message, struct findings *findings);

#endif
