/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/receive/receiver.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "reporter/otlp_answer.h"
#include "viewer/access_token.h"
#include "viewer/listen_address.h"
#include "viewer/open/open_otlp.h"
#include "viewer/receive/grpc_receiver.h"

#define EXPORT_METHOD "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

enum {
	/* Agents send less than gRPC's usual limit of 4 MiB. */
	REQUEST_MAX_BYTES = 16 << 20,
	UNPACKED_MAX_BYTES = 64 << 20,
	TRACES_MAX_BYTES = 32 << 20,
	SAMPLES_MAX = 256 << 10,
	WARNING_MAX_BYTES = 256,
};

struct receiver {
	struct receiver_options options;
	struct access_token token;
	struct grpc_receiver *calls;
	char address[LISTEN_ADDRESS_TEXT_BYTES];
	/* A reporter in front of the history that converts times. */
	struct reporter clock;
	/* The current time of both clocks while a request is processed. */
	uint64_t realtime_ns;
	uint64_t monotonic_ns;
	/* Samples of the request that are too old. */
	uint64_t too_old;
	atomic_bool is_stopping;
};

/* --- times --- */

/*
 * Samples without a time, or from clocks that are ahead, get the current time: the history drops
 * samples that are older than the newest one by more than its retention.
 */
static uint64_t monotonic_time(const struct receiver *receiver, uint64_t realtime_ns)
{
	uint64_t age_ns;

	if (!realtime_ns || realtime_ns > receiver->realtime_ns)
		return receiver->monotonic_ns;
	age_ns = receiver->realtime_ns - realtime_ns;
	return age_ns < receiver->monotonic_ns ? receiver->monotonic_ns - age_ns : 0;
}

/*
 * True for a sample that would never be visible, because it waited too long or its clock is behind.
 */
static bool is_too_old(const struct receiver *receiver, uint64_t realtime_ns)
{
	return realtime_ns && realtime_ns < receiver->realtime_ns &&
	       receiver->realtime_ns - realtime_ns > receiver->options.retention_ns;
}

static void report(struct reporter *reporter, const struct sample_event *event)
{
	struct receiver *receiver =
		(struct receiver *)((char *)reporter - offsetof(struct receiver, clock));
	struct sample_event shifted = *event;

	if (is_too_old(receiver, event->time_ns)) {
		receiver->too_old++;
		return;
	}
	shifted.time_ns = monotonic_time(receiver, event->time_ns);
	receiver->options.reporter->ops->report(receiver->options.reporter, &shifted);
}

/* --- calls --- */

static void refuse(struct grpc_call_answer *answer, enum rpc_status status, const char *text)
{
	answer->status = status;
	snprintf(answer->text, sizeof(answer->text), "%s", text);
}

static void admit(void *context, const char *method, const char *authorization,
		  struct grpc_call_answer *answer)
{
	const struct receiver *receiver = context;

	if (receiver->options.token_file &&
	    !access_token_in_authorization(&receiver->token, authorization))
		refuse(answer, RPC_UNAUTHENTICATED, "the token is missing or wrong");
	else if (strcmp(method, EXPORT_METHOD) && strcmp(method, SYMBOL_UPLOAD_METHOD))
		refuse(answer, RPC_UNIMPLEMENTED, "only profiles and symbols are taken here");
	else if (!strcmp(method, SYMBOL_UPLOAD_METHOD) && !receiver->options.take_symbols)
		refuse(answer, RPC_FAILED_PRECONDITION,
		       "no symbols are taken: start the agent that receives them with -cache-dir");
	if (answer->status)
		log_debug("a call of %s is refused: %s", method, answer->text);
}

static void take_symbols(const struct receiver *receiver, const void *bytes, size_t count,
			 struct grpc_call_answer *answer)
{
	int err = symbol_upload_read(bytes, count, receiver->options.take_symbols,
				     receiver->options.context);

	if (err)
		log_debug("symbols are refused: %s", error_text());
	switch (err) {
	case 0:
		return;
	case -EBADMSG:
	case -EINVAL:
	case -E2BIG:
		return refuse(answer, RPC_INVALID_ARGUMENT, error_text());
	case -EAGAIN:
		return refuse(answer, RPC_ABORTED, error_text());
	case -EBUSY:
		return refuse(answer, RPC_RESOURCE_EXHAUSTED, error_text());
	default:
		return refuse(answer, RPC_INTERNAL, "the symbols cannot be kept there");
	}
}

/* The warning to the sender about samples that were not taken; "" if all were. */
static void describe_rest(const struct receiver *receiver, uint64_t skipped,
			  char text[WARNING_MAX_BYTES])
{
	if (skipped)
		snprintf(text, WARNING_MAX_BYTES,
			 "only numbers of samples are shown here, no profiles of other values");
	else if (receiver->too_old)
		snprintf(text, WARNING_MAX_BYTES,
			 "%llu samples are older than what is shown here: a clock may be wrong",
			 (unsigned long long)receiver->too_old);
	else
		*text = '\0';
}

static void answer_profiles(struct receiver *receiver, const struct opened_samples *opened,
			    struct grpc_call_answer *answer)
{
	char text[WARNING_MAX_BYTES];

	if (opened->samples_per_second &&
	    opened->samples_per_second != receiver->options.samples_per_second)
		log_debug("%s samples %u times a second, not %u: its samples count as many",
			  opened->host, opened->samples_per_second,
			  receiver->options.samples_per_second);
	describe_rest(receiver, opened->skipped_profiles, text);
	if (!*text)
		return;
	log_debug("%llu profiles of %s are not shown: %s",
		  (unsigned long long)opened->skipped_profiles, opened->host, text);
	answer->response_bytes = otlp_answer_write_response((int64_t)opened->skipped_profiles, text,
							    answer->response,
							    sizeof(answer->response));
}

static void refuse_profiles(int err, struct grpc_call_answer *answer)
{
	if (err == -EBADMSG || err == -E2BIG)
		refuse(answer, RPC_INVALID_ARGUMENT, error_text());
	else if (err == -ECANCELED)
		refuse(answer, RPC_UNAVAILABLE, "the agent ends");
	else
		refuse(answer, RPC_RESOURCE_EXHAUSTED, "there is no memory for it");
	log_debug("profiles are refused: %s", answer->text);
}

static void take_profiles(struct receiver *receiver, const void *bytes, size_t count,
			  struct grpc_call_answer *answer)
{
	_cleanup_(opened_samples_deinit) struct opened_samples opened = {
		.max_bytes = TRACES_MAX_BYTES,
		.max_samples = SAMPLES_MAX,
		.unnamed_host = "unnamed machine",
		.is_cancelled = &receiver->is_stopping,
	};
	int err = open_otlp(bytes, count, UNPACKED_MAX_BYTES, &opened);

	if (err)
		return refuse_profiles(err, answer);
	receiver->too_old = 0;
	receiver->realtime_ns = clock_realtime_ns();
	receiver->monotonic_ns = clock_monotonic_ns();
	opened_samples_report(&opened, &receiver->clock);
	answer_profiles(receiver, &opened, answer);
}

static void take(void *context, const char *method, const void *bytes, size_t count,
		 struct grpc_call_answer *answer)
{
	if (!strcmp(method, SYMBOL_UPLOAD_METHOD))
		take_symbols(context, bytes, count, answer);
	else
		take_profiles(context, bytes, count, answer);
}

/* --- listening --- */

/* gRPC gives no reason when it cannot listen. */
static int try_address(struct listen_address *local, const char *address)
{
	int fd = listen_address_open(local);

	if (fd < 0)
		return fail(fd == -EADDRNOTAVAIL ? -EINVAL : fd,
			    "cannot listen on %s for profiles: %s", address, strerror(-fd));
	close(fd);
	return 0;
}

static int init(struct receiver *receiver)
{
	static const struct grpc_receiver_ops ops = { .admit = admit, .take = take };
	const struct receiver_options *options = &receiver->options;
	const struct grpc_receiver_options calls = {
		.address = receiver->address,
		.tls_cert = options->tls_cert,
		.tls_key = options->tls_key,
		.max_request_bytes = REQUEST_MAX_BYTES,
		.ops = &ops,
		.context = receiver,
	};
	struct listen_address local = { 0 };
	int err = listen_address_read("-receive", options->address, &local);

	if (err)
		return err;
	if (!listen_address_is_loopback(&local) && !options->token_file)
		return fail(-EINVAL,
			    "-receive %s: others than this machine could send; name a file with a "
			    "token by -receive-token-file, or listen on 127.0.0.1",
			    options->address);
	if (options->token_file)
		err = access_token_read(options->token_file, &receiver->token);
	if (!err)
		err = try_address(&local, options->address);
	if (err)
		return err;
	listen_address_text(&local, receiver->address);
	err = grpc_receiver_create(&calls, &receiver->calls);
	if (err)
		return err;
	listen_address_set_port(&local, grpc_receiver_port(receiver->calls));
	listen_address_text(&local, receiver->address);
	return 0;
}

int receiver_create(const struct receiver_options *options, struct receiver **receiver)
{
	static const struct reporter_ops ops = { .report = report };
	struct receiver *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return fail(-ENOMEM, "no memory for the receiver");
	made->options = *options;
	made->clock.ops = &ops;
	err = init(made);
	if (err) {
		receiver_destroy(made);
		return err;
	}
	*receiver = made;
	return 0;
}

void receiver_begin_stop(struct receiver *receiver)
{
	receiver->is_stopping = true;
	grpc_receiver_begin_stop(receiver->calls);
}

void receiver_destroy(struct receiver *receiver)
{
	if (!receiver)
		return;
	grpc_receiver_destroy(receiver->calls);
	free(receiver);
}

const char *receiver_address(const struct receiver *receiver)
{
	return receiver->address;
}

int receiver_start(struct receiver *receiver)
{
	return grpc_receiver_start(receiver->calls);
}
