// SPDX-License-Identifier: Apache-2.0
#include "reporter/grpc_answer.h"

#include <grpc/slice.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "reporter/grpc_message.h"
#include "reporter/otlp_answer.h"

static void read_retry_delay(struct transport_answer *answer, const grpc_metadata_array *trailers)
{
	for (size_t i = 0; i < trailers->count; i++) {
		const grpc_metadata *trailer = &trailers->metadata[i];

		if (grpc_slice_str_cmp(trailer->key, "grpc-status-details-bin"))
			continue;
		answer->retry_delay_ns = otlp_answer_read_retry_delay(
			GRPC_SLICE_START_PTR(trailer->value), GRPC_SLICE_LENGTH(trailer->value));
		return;
	}
}

static void read_response(struct transport_answer *answer, grpc_byte_buffer *response)
{
	_cleanup_(free_pointer) char *bytes = NULL;
	size_t count;

	if (!response)
		otlp_answer_set_message(answer, "there is no answer in the collector's reply");
	else if (grpc_message_read(response, OTLP_ANSWER_MAX_BYTES, &bytes, &count) ||
		 otlp_answer_read_response(answer, bytes, count))
		otlp_answer_set_message(answer, "the collector's answer cannot be understood");
}

const char grpc_unusable_certificates[] =
	"the CA file, or the client certificate and its key, cannot be used";

/* The C core's text when it has no address to connect to. */
static const char no_connector[] = "empty address list";

/* Each text is the beginning of a sentence about the collector. */
static const struct cause {
	/** Part of the C core's text about a failed connection. */
	const char *part;
	enum { ANY, PLAIN, TLS } when;
	const char *text;
} causes[] = {
	{ "DNS resolution failed", ANY, "its name cannot be resolved" },
	{ "Connection refused", ANY, "it refuses the connection: is it running, on this port?" },
	{ "o route to host", ANY, "there is no route to it" },
	{ "etwork is unreachable", ANY, "its network cannot be reached" },
	{ "certificate verify failed", TLS,
	  "its certificate is signed by no CA that is trusted here, or has expired; "
	  "-tls-ca FILE names the CA to trust" },
	{ "is not in peer certificate", TLS, "its certificate is for another name" },
	{ "SSL_ERROR_SSL", TLS, "it speaks no TLS; for plain text give -disable-tls" },
	{ no_connector, TLS, grpc_unusable_certificates },
	{ "", PLAIN, "it ends the connection; it may want TLS (then leave out -disable-tls)" },
	{ "", TLS,
	  "it ends the connection during the TLS handshake; it may want a client certificate "
	  "(-tls-cert, -tls-key)" },
};

/*
 * The reason for which a TLS peer ended a handshake (RFC 8446, section 6.2), in OpenSSL's words:
 * "tlsv13 alert certificate required". Alerts about certificates can only be about ours.
 */
static const char *alert_cause(const char *details, char *text, size_t text_bytes)
{
	static const char *const certificate_alerts[] = {
		"bad certificate",     "unsupported certificate",
		"certificate revoked", "certificate expired",
		"certificate unknown", "certificate required",
		"no certificate",      "unknown ca",
	};
	const char *alert = strstr(details, " alert ");

	if (!alert)
		return NULL;
	alert += strlen(" alert ");
	for (size_t i = 0; i < sizeof(certificate_alerts) / sizeof(certificate_alerts[0]); i++) {
		if (text_starts_with(alert, certificate_alerts[i]))
			return "it does not accept the client certificate (-tls-cert, -tls-key)";
	}
	snprintf(text, text_bytes, "it refuses the TLS handshake: %s", alert);
	return text;
}

/*
 * The reason why there was no connection. It is put into @text if it is not one of the causes
 * above. NULL if @details is about something else.
 */
static const char *connection_cause(const char *details, bool is_plain, char *text,
				    size_t text_bytes)
{
	const char *alert;

	if (!text_starts_with(details, "failed to connect") &&
	    !text_starts_with(details, "DNS resolution failed") &&
	    !text_starts_with(details, no_connector))
		return NULL;
	alert = is_plain ? NULL : alert_cause(details, text, text_bytes);
	if (alert)
		return alert;
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		if (causes[i].when == (is_plain ? TLS : PLAIN))
			continue;
		if (strstr(details, causes[i].part))
			return causes[i].text;
	}
	return NULL;
}

/* The meaning of each status; the collector's own text follows it. */
static const char *const status_texts[] = {
	[RPC_CANCELLED] = "it or the agent cancelled the call",
	[RPC_UNKNOWN] = "it failed for an unknown reason",
	[RPC_INVALID_ARGUMENT] = "it finds the request wrong",
	[RPC_DEADLINE_EXCEEDED] = "it does not answer in time",
	[RPC_NOT_FOUND] = "it does not find what it needs",
	[RPC_ALREADY_EXISTS] = "it has the request already",
	[RPC_PERMISSION_DENIED] = "it denies access",
	[RPC_RESOURCE_EXHAUSTED] = "it has no room or the quota is used up",
	[RPC_FAILED_PRECONDITION] = "it is not in a state to take profiles",
	[RPC_ABORTED] = "it aborted the call",
	[RPC_OUT_OF_RANGE] = "it finds something out of range",
	[RPC_UNIMPLEMENTED] = "it takes no profiles (Collector: gate service.profilesSupport)",
	[RPC_INTERNAL] = "it failed inside",
	[RPC_UNAVAILABLE] = "it is not available",
	[RPC_DATA_LOSS] = "it lost data",
	[RPC_UNAUTHENTICATED] = "it does not accept who we are (-header, -tls-cert)",
};

static void explain(struct transport_answer *answer, const char *details, bool is_plain)
{
	char text[2 * TRANSPORT_MESSAGE_BYTES], cause_text[TRANSPORT_MESSAGE_BYTES];
	const char *cause = NULL;

	if (answer->status == RPC_UNAVAILABLE)
		cause = connection_cause(details, is_plain, cause_text, sizeof(cause_text));
	snprintf(text, sizeof(text), "%s%s%s", cause ? cause : status_texts[answer->status],
		 cause || !*details ? "" : ": ", cause ? "" : details);
	otlp_answer_set_message(answer, text);
}

void grpc_read_answer(struct transport_answer *answer, grpc_status_code status, grpc_slice details,
		      const grpc_metadata_array *trailers, grpc_byte_buffer *response,
		      bool is_plain)
{
	_cleanup_(free_pointer) char *text =
		strndup((const char *)GRPC_SLICE_START_PTR(details), GRPC_SLICE_LENGTH(details));

	/* A collector may send any number. */
	answer->status = (int)status < 0 || status > GRPC_STATUS_UNAUTHENTICATED ?
				 RPC_UNKNOWN :
				 (enum rpc_status)status;
	if (answer->status == RPC_OK)
		return read_response(answer, response);
	read_retry_delay(answer, trailers);
	explain(answer, text ? text : "", is_plain);
}
