/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/viewer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "viewer/http_server.h"
#include "viewer/listen_address.h"

struct viewer {
	struct viewer_options options;
	struct history *history;
	struct api *api;
	struct access_token token;
	bool is_loopback;
	int fd;
	uint16_t port;
	char url[LISTEN_ADDRESS_TEXT_BYTES + 8];
	struct http_server *server;
};

/* --- the address --- */

static int listen_where_asked(struct viewer *viewer)
{
	const char *address = viewer->options.address;
	char text[LISTEN_ADDRESS_TEXT_BYTES];
	struct listen_address local = { 0 };
	int fd;

	snprintf(text, sizeof(text), "127.0.0.1:%d", VIEWER_DEFAULT_PORT);
	fd = listen_address_open_option("-viewer", address ? address : text,
					viewer->options.token_file, &local);
	if (fd == -EADDRINUSE && !address) {
		listen_address_set_port(&local, 0);
		fd = listen_address_open(&local);
	}
	if (fd < 0)
		return fd;
	viewer->fd = fd;
	viewer->is_loopback = listen_address_is_loopback(&local);
	viewer->port = listen_address_port(&local);
	listen_address_text(&local, text);
	snprintf(viewer->url, sizeof(viewer->url), "http://%s", text);
	return 0;
}

/* --- the viewer --- */

static int init(struct viewer *viewer)
{
	int err = 0;

	if (viewer->options.token_file)
		err = access_token_read(viewer->options.token_file, &viewer->token);
	if (!err)
		err = listen_where_asked(viewer);
	if (err)
		return err;
	viewer->history = history_create(&viewer->options.history);
	return viewer->history ? 0 : fail(-ENOMEM, "no memory for the viewer");
}

int viewer_create(const struct viewer_options *options, struct viewer **viewer)
{
	struct viewer *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return fail(-ENOMEM, "no memory for the viewer");
	made->options = *options;
	made->fd = -1;
	err = init(made);
	if (err) {
		viewer_destroy(made);
		return err;
	}
	*viewer = made;
	return 0;
}

void viewer_destroy(struct viewer *viewer)
{
	if (!viewer)
		return;
	viewer_stop(viewer);
	api_destroy(viewer->api);
	history_destroy(viewer->history);
	close_fd(&viewer->fd);
	free(viewer);
}

const char *viewer_url(const struct viewer *viewer)
{
	return viewer->url;
}

uint16_t viewer_port(const struct viewer *viewer)
{
	return viewer->port;
}

struct history *viewer_history(struct viewer *viewer)
{
	return viewer->history;
}

/*
 * The first answer numbers all stacks, which takes a second if there are many. This does it before
 * anybody waits.
 */
static void number_stacks(struct api *api)
{
	const struct api_request request = { .path = "flame" };
	struct api_answer answer;

	api_answer(api, &request, &answer);
	free(answer.body);
}

static void answer(void *context, const struct api_request *request, struct api_answer *answer)
{
	api_answer(context, request, answer);
}

static void tidy(void *context)
{
	api_tidy(context);
}

/* Samples from other machines can be as old as the retention allows. */
static void set_epoch(struct api_config *config)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t age_ns = config->retention_ns < now_ns ? config->retention_ns : now_ns;

	config->epoch_monotonic_ns = now_ns - age_ns;
	config->epoch_realtime_ns = clock_realtime_ns() - age_ns;
}

int viewer_start(struct viewer *viewer)
{
	const struct history_options *history = &viewer->options.history;
	struct api_config config = viewer->options.api;
	struct http_server_options server = {
		.fd = viewer->fd,
		.port = viewer->port,
		.site = { .name = "viewer",
			  .has_page = true,
			  .prefix = "/api/",
			  .answer = answer,
			  .tidy = tidy },
		.token = viewer->options.token_file ? &viewer->token : NULL,
		.host_name = config.host,
	};
	int err;

	config.history = viewer->history;
	config.token_needed = server.token;
	config.retention_ns = history->retention_ns == HISTORY_WITHOUT_END ? 0 :
									     history->retention_ns;
	/* Command lines of this machine leave it only on request. */
	config.shows_command_lines = viewer->is_loopback || !config.is_live ||
				     config.exports_command_lines;
	if (config.is_live)
		set_epoch(&config);
	err = api_create(&config, &viewer->api);
	if (err)
		return fail(err, "no memory for the viewer");
	if (!config.is_live)
		number_stacks(viewer->api);
	server.site.context = viewer->api;
	err = http_server_start(&server, &viewer->server);
	if (!err)
		/* The caller closes it. */
		viewer->fd = -1;
	return err;
}

void viewer_stop(struct viewer *viewer)
{
	http_server_stop(viewer->server);
	viewer->server = NULL;
}
