/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Takes OTLP profiles that other machines send (ProfilesService/Export), whose samples it puts into a history, and
 * symbols (viewer/receive/symbol_upload.h). Whoever can connect, and has the token if there is one, may send; what a request
 * can cost is bounded. Profiles of anything but samples are left out, and the sender is told.
 */
#ifndef VIEWER_RECEIVE_RECEIVER_H
#define VIEWER_RECEIVE_RECEIVER_H

#include "reporter/reporter.h"
#include "viewer/receive/symbol_upload.h"

/** Texts are borrowed until the receiver is made. */
struct receiver_options {
	/** `host:port`, in brackets for IPv6. */
	const char *address;
	/** PEM files of the certificate and its key, borrowed for as long as the receiver; NULL, both: plain text. */
	const char *tls_cert;
	const char *tls_key;
	/** NULL: none, and then only addresses of this machine's own loopback can be listened on. */
	const char *token_file;
	/** Samples go there, from the receiver's thread, with times of CLOCK_MONOTONIC; borrowed. */
	struct reporter *reporter;
	/** Older samples are left out, and the sender is told. */
	uint64_t retention_ns;
	/** Of what else is in the history: senders of another rate are logged. */
	uint32_t samples_per_second;
	/**
	 * Takes a piece of symbols, in the receiver's thread; -errno with a text for the sender: -EAGAIN if it may begin
	 * anew, -EBUSY if it may later. NULL: none are taken.
	 */
	int (*take_symbols)(void *context, const struct upload_piece *piece);
	void *context;
};

struct receiver;

/** Listens, but answers nobody yet. -EINVAL with a text for users for options that do not do, -ENOMEM. */
int receiver_create(const struct receiver_options *options, struct receiver **receiver);

/** Has it end soon, and take nothing more; does not wait. */
void receiver_begin_stop(struct receiver *receiver);

/** Takes NULL. Nothing of what was borrowed is used any more. */
void receiver_destroy(struct receiver *receiver);

/** "127.0.0.1:4317", with the port that it is. */
const char *receiver_address(const struct receiver *receiver);

/** Begins to answer. */
int receiver_start(struct receiver *receiver);

#endif
