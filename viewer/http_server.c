/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/http_server.h"

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <zlib.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/hash128.h"
#include "viewer/assets.h"
#include "viewer/http_guard.h"

enum {
	/* Above this limit new connections wait until others end. */
	CONNECTIONS_MAX = 1024,
	/*
	 * Limit per address if there is a token, because other machines can then connect. Browsers
	 * use 6.
	 */
	CONNECTIONS_PER_ADDRESS = 64,
	/* Seconds that a client may be idle. */
	IDLE_SECONDS = 15,
	/*
	 * Memory per connection, for a request with its headers and for what is written at once: a zoom
	 * path of 3,600 functions is 32 KiB. libmicrohttpd maps it, so only touched pages are used.
	 */
	CONNECTION_BYTES = 128 << 10,
	/* Their records have to fit into that memory, for libmicrohttpd does not answer where they do not. */
	PARAMETERS_MAX = 512,
	/* Limit of answers that clients have not read yet; above it requests are refused. */
	UNREAD_MAX_BYTES = 32 << 20,
	/* Smaller answers are not compressed. */
	COMPRESSED_MIN_BYTES = 1024,
	COMPRESSION_LEVEL = 3,
	/* zlib's windowBits: the largest window, with a gzip header. */
	GZIP_WINDOW_BITS = 15 + 16,
	ZLIB_MEMORY_LEVEL = 8,
	ETAG_BYTES = 24,
	NS_PER_US = 1000,
	/* How often data that is no longer used is freed. */
	TIDY_MS = 10000,
};

#define SECURITY_POLICY                                                                            \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "          \
	"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

struct http_server {
	struct http_server_options options;
	/* For the token, if there is one. */
	struct access_cookie cookie;
	struct MHD_Daemon *daemon;
	pthread_t thread;
	/* An eventfd that becomes readable when the thread should end. */
	int stop_fd;
	/* Atomic. Waiting requests get no answer then. */
	bool is_stopping;
	/* Bytes of answers in progress, without the one download that may run at a time. */
	size_t unread_bytes;
	bool has_download;
};

/* A request from its headers until its answer is read or the client is gone. */
struct request {
	size_t unread_bytes;
	bool is_download;
	/* It has more than PARAMETERS_MAX parameters. */
	bool has_too_many;
	/* Its headers were read. */
	bool is_begun;
};

/* An answer in progress. */
struct reply {
	unsigned int status;
	const char *content_type;
	/* Freed with the answer if is_owned. */
	void *bytes;
	size_t count;
	bool is_owned;
	/* "" for none. */
	char etag[ETAG_BYTES];
	const char *file_name;
	const char *location;
	const char *cookie;
	const char *allow;
};

/* --- answers --- */

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static bool accepts_gzip(struct MHD_Connection *connection)
{
	const char *encodings = header(connection, "Accept-Encoding");

	return encodings && strstr(encodings, "gzip");
}

/* Replaces the bytes of @reply by compressed ones. False, with @reply unchanged, on failure. */
static bool compress_reply(struct reply *reply)
{
	z_stream stream = { 0 };
	unsigned char *bytes;
	size_t room;
	int status;

	if (deflateInit2(&stream, COMPRESSION_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS,
			 ZLIB_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	room = deflateBound(&stream, reply->count);
	bytes = malloc(room);
	stream.next_in = reply->bytes;
	stream.avail_in = (uInt)reply->count;
	stream.next_out = bytes;
	stream.avail_out = (uInt)room;
	status = bytes ? deflate(&stream, Z_FINISH) : Z_MEM_ERROR;
	deflateEnd(&stream);
	if (status != Z_STREAM_END) {
		free(bytes);
		return false;
	}
	if (reply->is_owned)
		free(reply->bytes);
	reply->bytes = bytes;
	reply->count = stream.total_out;
	reply->is_owned = true;
	return true;
}

/* Adds the CPU time of the server's thread so far: making, writing and compressing this answer. */
static void add_cpu_time(struct MHD_Response *response)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, clock_thread_cpu_ns() / NS_PER_US);
	MHD_add_response_header(response, "X-Allframes-CPU-us", text);
}

static void add_headers(struct MHD_Response *response, const struct reply *reply)
{
	char disposition[192];

	add_cpu_time(response);
	MHD_add_response_header(response, "Content-Type", reply->content_type);
	MHD_add_response_header(response, "Content-Security-Policy", SECURITY_POLICY);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(response, "Cache-Control", *reply->etag ? "no-cache" : "no-store");
	if (*reply->etag)
		MHD_add_response_header(response, "ETag", reply->etag);
	if (reply->location)
		MHD_add_response_header(response, "Location", reply->location);
	if (reply->cookie)
		MHD_add_response_header(response, "Set-Cookie", reply->cookie);
	if (reply->allow)
		MHD_add_response_header(response, "Allow", reply->allow);
	if (!reply->file_name)
		return;
	snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"", reply->file_name);
	MHD_add_response_header(response, "Content-Disposition", disposition);
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, struct reply *reply)
{
	/* Downloads can be large, and mostly go to the same machine. */
	bool is_compressed = reply->count >= COMPRESSED_MIN_BYTES && reply->count < UINT32_MAX &&
			     !reply->file_name && accepts_gzip(connection) && compress_reply(reply);
	struct MHD_Response *response = MHD_create_response_from_buffer(
		reply->count, reply->bytes,
		reply->is_owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!response) {
		if (reply->is_owned)
			free(reply->bytes);
		return MHD_NO;
	}
	add_headers(response, reply);
	if (is_compressed)
		MHD_add_response_header(response, "Content-Encoding", "gzip");
	if (reply->count)
		MHD_add_response_header(response, "Vary", "Accept-Encoding");
	result = MHD_queue_response(connection, reply->status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_error(struct MHD_Connection *connection, unsigned int status,
				  const char *json)
{
	struct reply reply = {
		.status = status,
		.content_type = "application/json",
		.bytes = (void *)json,
		.count = strlen(json),
		.allow = status == MHD_HTTP_METHOD_NOT_ALLOWED ? "GET, HEAD" : NULL,
	};

	return send_reply(connection, &reply);
}

static enum MHD_Result send_asset(struct MHD_Connection *connection, const struct asset *asset)
{
	struct reply reply = {
		.status = MHD_HTTP_OK,
		.content_type = asset->content_type,
		.bytes = (void *)asset->bytes,
		.count = asset->count,
	};
	const char *known = header(connection, "If-None-Match");

	snprintf(reply.etag, sizeof(reply.etag), "\"%016" PRIx64 "\"",
		 hash128_bytes(asset->bytes, asset->count).low);
	if (known && !strcmp(known, reply.etag)) {
		reply.status = MHD_HTTP_NOT_MODIFIED;
		reply.count = 0;
	}
	return send_reply(connection, &reply);
}

/* --- requests --- */

struct parameters {
	struct api_parameter items[PARAMETERS_MAX];
	size_t count;
	bool is_bad;
};

static enum MHD_Result take_parameter(void *context, enum MHD_ValueKind kind, const char *name,
				      size_t name_bytes, const char *value, size_t value_bytes)
{
	struct parameters *parameters = context;

	(void)kind;
	if (!value)
		value = "";
	if (parameters->count == PARAMETERS_MAX || strlen(name) != name_bytes ||
	    (value_bytes && strlen(value) != value_bytes)) {
		parameters->is_bad = true;
		return MHD_NO;
	}
	parameters->items[parameters->count++] = (struct api_parameter){ name, value };
	return MHD_YES;
}

/* Clients that request much and read nothing must not make the agent keep all of it. */
static bool is_too_much(const struct http_server *server, const char *path)
{
	return server->unread_bytes > UNREAD_MAX_BYTES ||
	       (server->has_download && !strcmp(path, "export"));
}

static void note_unread(struct http_server *server, struct request *request,
			const struct reply *reply)
{
	request->is_download = reply->file_name;
	if (request->is_download)
		server->has_download = true;
	else
		request->unread_bytes = reply->count;
	server->unread_bytes += request->unread_bytes;
}

static void end_request(void *context, struct MHD_Connection *connection, void **request_pointer,
			enum MHD_RequestTerminationCode code)
{
	struct http_server *server = context;
	struct request *request = *request_pointer;

	(void)connection;
	(void)code;
	if (!request)
		return;
	server->unread_bytes -= request->unread_bytes;
	if (request->is_download)
		server->has_download = false;
	free(request);
	*request_pointer = NULL;
}

static enum MHD_Result answer_question(struct http_server *server,
				       struct MHD_Connection *connection, const char *path,
				       bool is_post, struct request *begun)
{
	struct parameters parameters = { 0 };
	const struct http_site *site = &server->options.site;
	struct api_request request = {
		.path = path,
		.is_post = is_post,
		.accept = header(connection, "Accept"),
	};
	struct api_answer answer;
	enum MHD_Result result;
	struct reply reply;

	if (is_too_much(server, path))
		return send_error(
			connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			"{\"error\":\"others have not read what they asked for: try again in a while\"}");
	if (begun->has_too_many)
		return send_error(connection, MHD_HTTP_BAD_REQUEST,
				  "{\"error\":\"there are too many parameters\"}");
	MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, take_parameter, &parameters);
	if (parameters.is_bad)
		return send_error(connection, MHD_HTTP_BAD_REQUEST,
				  "{\"error\":\"the parameters make no sense\"}");
	request.parameters = parameters.items;
	request.parameter_count = parameters.count;
	site->answer(site->context, &request, &answer);
	if (!answer.body)
		return send_error(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				  "{\"error\":\"the agent has no memory for that\"}");
	reply = (struct reply){
		.status = answer.status,
		.content_type = answer.content_type,
		.bytes = answer.body,
		.count = answer.bytes,
		.is_owned = true,
		.file_name = *answer.file_name ? answer.file_name : NULL,
		.allow = answer.status == MHD_HTTP_METHOD_NOT_ALLOWED ? "GET, HEAD" : NULL,
	};
	result = send_reply(connection, &reply);
	if (result == MHD_YES)
		note_unread(server, begun, &reply);
	return result;
}

/* --- access checks --- */

/*
 * Moves the token from the URL into a cookie, so that it stays neither in the address bar nor in
 * the browser's history.
 */
static enum MHD_Result send_cookie(const struct http_server *server,
				   struct MHD_Connection *connection)
{
	char cookie[sizeof(struct access_cookie) + 96];
	struct reply reply = {
		.status = MHD_HTTP_SEE_OTHER,
		.content_type = "text/plain; charset=utf-8",
		.bytes = "",
		.location = "/",
		.cookie = cookie,
	};

	snprintf(cookie, sizeof(cookie), "%s=%s; HttpOnly; SameSite=Strict; Path=/",
		 server->cookie.name, server->cookie.value);
	return send_reply(connection, &reply);
}

static bool is_let_in(const struct http_server *server, struct MHD_Connection *connection)
{
	const struct access_token *token = server->options.token;

	return !token ||
	       access_token_in_authorization(token, header(connection, "Authorization")) ||
	       access_cookie_is(&server->cookie,
				MHD_lookup_connection_value(connection, MHD_COOKIE_KIND,
							    server->cookie.name));
}

static enum guard_verdict judge(const struct http_server *server, struct MHD_Connection *connection,
				const char *path, bool is_post)
{
	const struct guarded_request request = {
		.host = header(connection, "Host"),
		.origin = header(connection, "Origin"),
		.fetch_site = header(connection, "Sec-Fetch-Site"),
		.mark = header(connection, "X-Allframes"),
		.is_post = is_post,
		.is_page = !strcmp(path, "/"),
	};

	return http_guard_judge(&request, server->options.port, server->options.host_name);
}

static enum MHD_Result answer_request(struct http_server *server, struct MHD_Connection *connection,
				      const char *path, bool is_post, struct request *begun)
{
	const struct http_site *site = &server->options.site;
	size_t prefix_bytes = strlen(site->prefix);
	bool is_answered = !strncmp(path, site->prefix, prefix_bytes);
	const struct asset *asset;
	const char *token;

	switch (judge(server, connection, path, is_post)) {
	case GUARD_FOREIGN_HOST:
		return send_error(
			connection, MHD_HTTP_MISDIRECTED_REQUEST,
			"{\"error\":\"ask for this machine by its address or as localhost\"}");
	case GUARD_FOREIGN_ORIGIN:
		return send_error(connection, MHD_HTTP_FORBIDDEN,
				  "{\"error\":\"pages of other sites may not ask\"}");
	case GUARD_ALLOWED:
		break;
	}
	token = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");
	if (site->has_page && server->options.token && token && !is_post && !strcmp(path, "/") &&
	    access_token_is(server->options.token, token))
		return send_cookie(server, connection);
	asset = is_post || !site->has_page ? NULL : asset_find(path);
	/* The page itself is not secret, and says that a token is needed. */
	if (asset)
		return send_asset(connection, asset);
	if (!(is_answered && site->is_for_all && site->is_for_all(path + prefix_bytes)) &&
	    !is_let_in(server, connection))
		return send_error(connection, MHD_HTTP_UNAUTHORIZED,
				  "{\"error\":\"this agent asks for a token\"}");
	if (!is_answered)
		return send_error(connection, MHD_HTTP_NOT_FOUND,
				  "{\"error\":\"there is nothing here\"}");
	return answer_question(server, connection, path + prefix_bytes, is_post, begun);
}

/* Called with the headers, with chunks of a body, and at the end of the request. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_bytes, void **request)
{
	bool is_post = !strcmp(method, "POST");
	struct http_server *server = context;
	struct request *begun = *request;

	(void)version;
	(void)upload;
	if (__atomic_load_n(&server->is_stopping, __ATOMIC_RELAXED))
		return MHD_NO;
	if (!is_post && strcmp(method, "GET") && strcmp(method, "HEAD"))
		return send_error(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				  "{\"error\":\"only GET and HEAD\"}");
	if (!begun)
		return MHD_NO;
	if (!begun->is_begun) {
		begun->is_begun = true;
		return MHD_YES;
	}
	/* Our requests have no body. */
	if (*upload_bytes) {
		*upload_bytes = 0;
		return MHD_YES;
	}
	return answer_request(server, connection, url, is_post, begun);
}

/*
 * Called with the request's URL before it is taken apart; returns the request. Cuts off the parameters that are too many: the
 * text is libmicrohttpd's own buffer.
 */
static void *begin_request(void *context, const char *url, struct MHD_Connection *connection)
{
	struct request *request = calloc(1, sizeof(*request));
	char *end = strchr(url, '?');

	(void)context;
	(void)connection;
	for (int i = 0; end && i < PARAMETERS_MAX; i++)
		end = strchr(end + 1, '&');
	if (request && end)
		request->has_too_many = true;
	if (end)
		*end = '\0';
	return request;
}

/* Errors of clients are not logged. */
static void ignore_log(void *context, const char *format, va_list arguments)
{
	(void)context;
	(void)format;
	(void)arguments;
}

/* --- the server thread --- */

/* Waits until a connection has work, or for @ms; false if the thread should end. */
static bool wait_for_clients(const struct http_server *server, uint64_t ms)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = {
		{ .fd = server->stop_fd, .events = POLLIN },
		{ .fd = info->epoll_fd, .events = POLLIN },
	};
	MHD_UNSIGNED_LONG_LONG timeout_ms;

	if (MHD_get_timeout(server->daemon, &timeout_ms) == MHD_YES && timeout_ms < ms)
		ms = timeout_ms;
	poll(fds, sizeof(fds) / sizeof(fds[0]), (int)ms);
	return !fds[0].revents;
}

static void *run(void *context)
{
	struct http_server *server = context;
	const struct http_site *site = &server->options.site;
	uint64_t tidied_ms = clock_monotonic_ns() / NS_PER_MS;

	pthread_setname_np(pthread_self(), site->name);
	while (wait_for_clients(server, TIDY_MS)) {
		uint64_t now_ms;

		MHD_run(server->daemon);
		now_ms = clock_monotonic_ns() / NS_PER_MS;
		if (site->tidy && now_ms - tidied_ms >= TIDY_MS) {
			site->tidy(site->context);
			tidied_ms = now_ms;
		}
	}
	return NULL;
}

static int start(struct http_server *server)
{
	const struct http_server_options *options = &server->options;
	int err;

	server->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (server->stop_fd < 0)
		return -errno;
	if (options->token) {
		err = access_cookie_make(options->token, options->port, &server->cookie);
		if (err)
			return err;
	}
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_ERROR_LOG, options->port, NULL, NULL, handle, server,
		MHD_OPTION_EXTERNAL_LOGGER, ignore_log, NULL, MHD_OPTION_NOTIFY_COMPLETED,
		end_request, server, MHD_OPTION_URI_LOG_CALLBACK, begin_request, NULL,
		MHD_OPTION_LISTEN_SOCKET, options->fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)CONNECTIONS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned int)(options->token ? CONNECTIONS_PER_ADDRESS : CONNECTIONS_MAX),
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_END);
	if (!server->daemon)
		return -EIO;
	err = -pthread_create(&server->thread, NULL, run, server);
	if (err)
		/* The caller keeps the socket. */
		MHD_quiesce_daemon(server->daemon);
	return err;
}

static void destroy(struct http_server *server)
{
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	close_fd(&server->stop_fd);
	free(server);
}

int http_server_start(const struct http_server_options *options, struct http_server **server)
{
	struct http_server *started = calloc(1, sizeof(*started));
	int err;

	if (!started)
		return fail(-ENOMEM, "no memory for an HTTP server");
	started->options = *options;
	err = start(started);
	if (err) {
		destroy(started);
		return fail_errno(err, "cannot start the thread of an HTTP server");
	}
	*server = started;
	return 0;
}

void http_server_stop(struct http_server *server)
{
	if (!server)
		return;
	__atomic_store_n(&server->is_stopping, true, __ATOMIC_RELAXED);
	eventfd_write(server->stop_fd, 1);
	pthread_join(server->thread, NULL);
	destroy(server);
}
