// SPDX-License-Identifier: Apache-2.0
/* Fuzzes the answers of a collector: the response, and the details of a status. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "reporter/otlp_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct transport_answer answer = { 0 };

	otlp_answer_read_response(&answer, data, size);
	assert(answer.rejected_count >= 0);
	assert(memchr(answer.message, '\0', sizeof(answer.message)));
	otlp_answer_read_retry_delay(data, size);
	return 0;
}
