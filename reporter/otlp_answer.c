// SPDX-License-Identifier: Apache-2.0
#include "reporter/otlp_answer.h"

#include <errno.h>
#include <string.h>

#include "build/proto/otlp_collector.pb-c.h"
#include "build/proto/rpc_status.pb-c.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/base/text_builder.h"

/* protobuf-c prefixes names with the whole package. */
#define COLLECTOR_(name) opentelemetry__proto__collector__profiles__v1development__##name

typedef Opentelemetry__Proto__Collector__Profiles__V1development__ExportProfilesServiceResponse
	export_response;
typedef Opentelemetry__Proto__Collector__Profiles__V1development__ExportProfilesPartialSuccess
	partial_success;

#define EXPORT_RESPONSE_INIT                                                                       \
	OPENTELEMETRY__PROTO__COLLECTOR__PROFILES__V1DEVELOPMENT__EXPORT_PROFILES_SERVICE_RESPONSE__INIT
#define PARTIAL_SUCCESS_INIT                                                                       \
	OPENTELEMETRY__PROTO__COLLECTOR__PROFILES__V1DEVELOPMENT__EXPORT_PROFILES_PARTIAL_SUCCESS__INIT

static const char retry_info_type[] = "google.rpc.RetryInfo";

void otlp_answer_set_message(struct transport_answer *answer, const char *text)
{
	_cleanup_(text_builder_deinit) struct text_builder clean = { 0 };
	/*
	 * Cleaning never makes a text longer, so this fills the message up to the last whole
	 * character.
	 */
	_cleanup_(free_pointer) char *head = strndup(text, sizeof(answer->message) + 3);
	size_t length;

	answer->message[0] = '\0';
	if (!head)
		return;
	text_builder_append_name(&clean, head);
	length = text_cut_length(clean.text, clean.length, sizeof(answer->message) - 1);
	memcpy(answer->message, text_builder_text(&clean), length);
	answer->message[length] = '\0';
}

int otlp_answer_read_response(struct transport_answer *answer, const void *bytes, size_t count)
{
	const partial_success *partial;
	export_response *response;

	if (count > OTLP_ANSWER_MAX_BYTES)
		return fail(-EBADMSG, "answer of %zu bytes", count);
	response = COLLECTOR_(export_profiles_service_response__unpack)(NULL, count, bytes);
	if (!response)
		return fail(-EBADMSG, "answer is no ExportProfilesServiceResponse");
	partial = response->partial_success;
	if (partial) {
		answer->rejected_count =
			partial->rejected_profiles > 0 ? partial->rejected_profiles : 0;
		otlp_answer_set_message(answer, partial->error_message);
	}
	COLLECTOR_(export_profiles_service_response__free_unpacked)(response, NULL);
	return 0;
}

size_t otlp_answer_write_response(int64_t rejected, const char *text, void *bytes, size_t capacity)
{
	partial_success partial = PARTIAL_SUCCESS_INIT;
	export_response response = EXPORT_RESPONSE_INIT;

	partial.rejected_profiles = rejected;
	partial.error_message = (char *)text;
	response.partial_success = &partial;
	if (COLLECTOR_(export_profiles_service_response__get_packed_size)(&response) > capacity)
		return 0;
	return COLLECTOR_(export_profiles_service_response__pack)(&response, bytes);
}

static uint64_t duration_ns(const Google__Rpc__Duration *duration)
{
	uint64_t ns;

	if (duration->seconds < 0 || duration->nanos < 0)
		return 0;
	if (__builtin_mul_overflow((uint64_t)duration->seconds, NS_PER_SECOND, &ns) ||
	    __builtin_add_overflow(ns, (uint64_t)duration->nanos, &ns) || ns == UINT64_MAX)
		return UINT64_MAX - 1;
	return ns;
}

/* The type follows the last slash of the URL. */
static int is_retry_info(const char *type_url)
{
	const char *slash = strrchr(type_url, '/');

	return slash && !strcmp(slash + 1, retry_info_type);
}

static uint64_t read_retry_info(const ProtobufCBinaryData *value)
{
	Google__Rpc__RetryInfo *info =
		google__rpc__retry_info__unpack(NULL, value->len, value->data);
	uint64_t delay_ns = UINT64_MAX;

	if (info)
		delay_ns = info->retry_delay ? duration_ns(info->retry_delay) : 0;
	google__rpc__retry_info__free_unpacked(info, NULL);
	return delay_ns;
}

uint64_t otlp_answer_read_retry_delay(const void *bytes, size_t count)
{
	uint64_t delay_ns = UINT64_MAX;
	Google__Rpc__Status *status;

	if (count > OTLP_ANSWER_MAX_BYTES)
		return UINT64_MAX;
	status = google__rpc__status__unpack(NULL, count, bytes);
	for (size_t i = 0; status && i < status->n_details && delay_ns == UINT64_MAX; i++) {
		if (is_retry_info(status->details[i]->type_url))
			delay_ns = read_retry_info(&status->details[i]->value);
	}
	google__rpc__status__free_unpacked(status, NULL);
	return delay_ns;
}
