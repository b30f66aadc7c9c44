/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Prints received requests for people: a line per request, its resources, and the rules that it
 * breaks.
 */
#ifndef INTEGRATION_COLLECTOR_PRINT_H
#define INTEGRATION_COLLECTOR_PRINT_H

#include "integration/collector/received.h"

/** @source is the peer or the file. Text from outside is cleaned. */
void print_request(FILE *out, const char *source, const struct incoming *incoming,
		   const struct request_entry *entry, const struct findings *findings);

/** Prints the sums, and every rule that was broken. */
void print_totals(FILE *out, const struct received *received);

#endif
