/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/metrics_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/model/metrics.h"
#include "viewer/http_server.h"
#include "viewer/listen_address.h"

enum {
	STALLED_MS = 60000,
	STATUS_OK = 200,
	STATUS_NOT_FOUND = 404,
	STATUS_NOT_ALLOWED = 405,
	STATUS_UNAVAILABLE = 503,
};

struct metrics_server {
	struct metrics_server_options options;
	struct access_token token;
	int fd;
	uint16_t port;
	char url[LISTEN_ADDRESS_TEXT_BYTES + 16];
	struct http_server *http;
};

static int init(struct metrics_server *server)
{
	const struct metrics_server_options *options = &server->options;
	char text[LISTEN_ADDRESS_TEXT_BYTES];
	struct listen_address local = { 0 };
	int fd, err = 0;

	if (options->token_file)
		err = access_token_read(options->token_file, &server->token);
	if (err)
		return err;
	fd = listen_address_open_option("-metrics", options->address, options->token_file, &local);
	if (fd < 0)
		return fd;
	server->fd = fd;
	server->port = listen_address_port(&local);
	listen_address_text(&local, text);
	snprintf(server->url, sizeof(server->url), "http://%s/metrics", text);
	return 0;
}

int metrics_server_create(const struct metrics_server_options *options,
			  struct metrics_server **server)
{
	struct metrics_server *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return fail(-ENOMEM, "no memory for the metrics");
	made->options = *options;
	made->fd = -1;
	err = init(made);
	if (err) {
		metrics_server_destroy(made);
		return err;
	}
	*server = made;
	return 0;
}

void metrics_server_destroy(struct metrics_server *server)
{
	if (!server)
		return;
	http_server_stop(server->http);
	close_fd(&server->fd);
	free(server);
}

const char *metrics_server_url(const struct metrics_server *server)
{
	return server->url;
}

/* --- answers --- */

/* Without memory the body stays NULL. */
static void set_text(struct api_answer *answer, unsigned int status, const char *text)
{
	answer->status = status;
	answer->content_type = "text/plain; charset=utf-8";
	answer->body = strdup(text);
	answer->bytes = strlen(text);
}

static void answer_metrics(const struct metrics_server *server, bool is_open,
			   struct api_answer *answer)
{
	_cleanup_(metric_table_deinit) struct metric_table table = { 0 };
	struct text_builder text = { 0 };

	server->options.fill(server->options.context, &table);
	metrics_text_append(&text, &table, is_open);
	if (text.failed) {
		text_builder_deinit(&text);
		return;
	}
	answer->status = STATUS_OK;
	answer->content_type = is_open ? OPEN_METRICS_TYPE : METRICS_TEXT_TYPE;
	answer->body = text.text;
	answer->bytes = text.length;
}

static void answer_health(const struct metrics_server *server, struct api_answer *answer)
{
	uint64_t sample_ms = metrics_read(METRIC_OLDEST_SAMPLE_AGE);
	uint64_t event_ms = metrics_read(METRIC_OLDEST_EVENT_AGE);
	uint64_t age_ms = server->options.age_ms(server->options.context);
	char text[192];

	snprintf(
		text, sizeof(text),
		"stalled: the oldest sample has waited %llu ms, the oldest event %llu ms, as seen %llu ms ago\n",
		(unsigned long long)sample_ms, (unsigned long long)event_ms,
		(unsigned long long)age_ms);
	if (sample_ms >= STALLED_MS || event_ms >= STALLED_MS || age_ms >= STALLED_MS)
		set_text(answer, STATUS_UNAVAILABLE, text);
	else
		set_text(answer, STATUS_OK, "ok\n");
}

static bool is_for_all(const char *path)
{
	return !strcmp(path, "healthz") || !strcmp(path, "readyz");
}

static void answer(void *context, const struct api_request *request, struct api_answer *answer)
{
	*answer = (struct api_answer){ 0 };
	if (request->is_post)
		set_text(answer, STATUS_NOT_ALLOWED, "only GET and HEAD\n");
	else if (!strcmp(request->path, "metrics"))
		answer_metrics(context, metrics_text_is_open(request->accept), answer);
	else if (!strcmp(request->path, "healthz"))
		answer_health(context, answer);
	else if (!strcmp(request->path, "readyz"))
		set_text(answer, STATUS_OK, "ok\n");
	else
		set_text(answer, STATUS_NOT_FOUND, "there are /metrics, /healthz and /readyz\n");
}

int metrics_server_start(struct metrics_server *server)
{
	const struct http_server_options options = {
		.fd = server->fd,
		.port = server->port,
		.site = { .name = "metrics",
			  .prefix = "/",
			  .answer = answer,
			  .is_for_all = is_for_all,
			  .context = server },
		.token = server->options.token_file ? &server->token : NULL,
		.host_name = server->options.host,
	};
	int err = http_server_start(&options, &server->http);

	if (!err)
		/* The server closes it. */
		server->fd = -1;
	return err;
}
