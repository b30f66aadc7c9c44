/* SPDX-License-Identifier: Apache-2.0 */
/** A fake collector and a fake clock for tests of senders. */
#ifndef REPORTER_TESTS_FAKE_TRANSPORT_H
#define REPORTER_TESTS_FAKE_TRANSPORT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "reporter/transport.h"

enum { FAKE_KEPT_BYTES = 64 << 10 };

static uint64_t fake_time_ns;

static inline uint64_t fake_now_ns(void)
{
	return fake_time_ns;
}

struct fake_transport {
	struct transport base;
	/** The answer to each send; the message may be NULL. */
	struct transport_answer answer;
	/** Called in each send, if set; may change the answer and the time. */
	void (*on_send)(struct fake_transport *transport, uint64_t timeout_ns);
	/** The method and the bytes of the last call. */
	const char *method;
	uint8_t bytes[FAKE_KEPT_BYTES];
	size_t byte_count;
	uint64_t timeout_ns;
	uint32_t call_count;
	uint32_t cancel_count;
};

static inline void fake_send(struct transport *base, const char *method, const void *bytes,
			     size_t byte_count, uint64_t timeout_ns,
			     struct transport_answer *answer)
{
	struct fake_transport *transport = (struct fake_transport *)base;

	transport->call_count++;
	transport->method = method;
	transport->byte_count = byte_count;
	transport->timeout_ns = timeout_ns;
	memcpy(transport->bytes, bytes,
	       byte_count < FAKE_KEPT_BYTES ? byte_count : FAKE_KEPT_BYTES);
	if (transport->on_send)
		transport->on_send(transport, timeout_ns);
	*answer = transport->answer;
}

static inline void fake_cancel(struct transport *base)
{
	struct fake_transport *transport = (struct fake_transport *)base;

	__atomic_fetch_add(&transport->cancel_count, 1, __ATOMIC_SEQ_CST);
}

static inline void fake_transport_init(struct fake_transport *transport)
{
	static const struct transport_ops ops = { .send = fake_send, .cancel = fake_cancel };

	*transport = (struct fake_transport){
		.base.ops = &ops,
		.answer.retry_delay_ns = UINT64_MAX,
	};
	fake_time_ns = 1000 * NS_PER_SECOND;
}

static inline void fake_answer(struct fake_transport *transport, enum rpc_status status,
			       const char *message)
{
	transport->answer = (struct transport_answer){
		.status = status,
		.retry_delay_ns = UINT64_MAX,
	};
	snprintf(transport->answer.message, sizeof(transport->answer.message), "%s", message);
}

/** Redirects standard error to a file until captured_log(). */
struct capture {
	int saved;
	FILE *file;
};

static inline void capture_log(struct capture *capture)
{
	capture->file = tmpfile();
	capture->saved = dup(STDERR_FILENO);
	dup2(fileno(capture->file), STDERR_FILENO);
}

/** The captured text; the caller frees it. */
static inline char *captured_log(struct capture *capture)
{
	char *text = calloc(1, 1 << 16);

	dup2(capture->saved, STDERR_FILENO);
	close(capture->saved);
	rewind(capture->file);
	if (!fread(text, 1, (1 << 16) - 1, capture->file))
		text[0] = '\0';
	fclose(capture->file);
	return text;
}

#endif
