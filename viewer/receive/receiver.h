/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Takes OTLP profiles from other machines (ProfilesService/Export), whose samples it puts into a
 * history, and symbols (viewer/receive/symbol_upload.h). Anybody who can connect, and has the token
 * if one is set, may send; the cost of a request is limited. Profiles of anything but samples are
 * skipped, and the answer says so.
 */
#ifndef VIEWER_RECEIVE_RECEIVER_H
#define VIEWER_RECEIVE_RECEIVER_H

#include "reporter/reporter.h"
#include "viewer/receive/symbol_upload.h"

/** Texts are borrowed until receiver_create() returns. */
struct receiver_options {
	/** `host:port`, in brackets for IPv6. */
	const char *address;
	/**
	 * PEM files of the certificate and its key, borrowed while the receiver lives; NULL, both:
	 * plain text.
	 */
	const char *tls_cert;
	const char *tls_key;
	/** NULL: no token; only loopback addresses are then accepted for listening. */
	const char *token_file;
	/** Takes the samples, in the receiver's thread, with times of CLOCK_MONOTONIC; borrowed. */
	struct reporter *reporter;
	/** Older samples are skipped, and the answer says so. */
	uint64_t retention_ns;
	/** The sampling rate of the history; senders with another rate are logged. */
	uint32_t samples_per_second;
	/**
	 * Takes a chunk of symbols, in the receiver's thread. -errno with a text for the sender:
	 * -EAGAIN if the sender should restart the upload, -EBUSY if it may retry later. NULL:
	 * symbols are refused.
	 */
	int (*take_symbols)(void *context, const struct upload_chunk *chunk);
	void *context;
};

struct receiver;

/**
 * Listens, but answers nothing yet. -EINVAL with a text for users if an option is unusable,
 * -ENOMEM.
 */
int receiver_create(const struct receiver_options *options, struct receiver **receiver);

/** Ends the work soon and accepts nothing more; does not wait. */
void receiver_begin_stop(struct receiver *receiver);

/** Takes NULL. Borrowed memory is no longer used afterwards. */
void receiver_destroy(struct receiver *receiver);

/** "127.0.0.1:4317", with the actual port. */
const char *receiver_address(const struct receiver *receiver);

/** Starts to answer. */
int receiver_start(struct receiver *receiver);

#endif
