/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses that are accepted for listening; integration/viewer_server_test.py tests the server
 * itself.
 */
#include "viewer/viewer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/error.h"

#include <cmocka.h>

static int create(const char *address, const char *token_file, struct viewer **viewer)
{
	const struct viewer_options options = {
		.address = address,
		.token_file = token_file,
		.api = { .version = "v1", .host = "box", .kernel = "", .source = "" },
	};

	*viewer = NULL;
	return viewer_create(&options, viewer);
}

static void assert_refused(const char *address, int error, const char *why)
{
	struct viewer *viewer;

	assert_int_equal(create(address, NULL, &viewer), error);
	assert_null(viewer);
	if (!strstr(error_text(), why))
		fail_msg("%s: '%s' does not tell '%s'", address, error_text(), why);
}

static void addresses_that_make_no_sense_are_refused(void **state)
{
	char longest[400];

	(void)state;
	assert_refused("127.0.0.1", -EINVAL, "an address and a port");
	assert_refused("127.0.0.1:", -EINVAL, "an address and a port");
	assert_refused("127.0.0.1:x", -EINVAL, "an address and a port");
	assert_refused("127.0.0.1:65536", -EINVAL, "an address and a port");
	assert_refused("127.0.0.1:-1", -EINVAL, "an address and a port");
	assert_refused("127.0.0.1:000080", -EINVAL, "an address and a port");
	assert_refused("[::1]", -EINVAL, "an address and a port");
	assert_refused("::1:7171", -EINVAL, "brackets");
	assert_refused("[::1:7171", -EINVAL, "brackets");
	assert_refused("no.such.host.invalid:7171", -EINVAL, "no.such.host.invalid");
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_refused(longest, -EINVAL, "too long");
}

static void others_than_this_machine_need_a_token(void **state)
{
	struct viewer *viewer;

	(void)state;
	assert_refused("0.0.0.0:0", -EINVAL, "-viewer-token-file");
	assert_refused(":0", -EINVAL, "-viewer-token-file");
	assert_refused("[::]:0", -EINVAL, "-viewer-token-file");
	/* An address of no interface: it is refused before anything tries to use it. */
	assert_refused("192.0.2.1:0", -EINVAL, "-viewer-token-file");
	assert_int_equal(create("0.0.0.0:0", "/nonexistent/token", &viewer), -EINVAL);
	assert_non_null(strstr(error_text(), "token"));
}

static void the_address_is_told_with_its_port(void **state)
{
	static const char *const loopback[] = { "127.0.0.1:0", "127.8.9.10:0", "localhost:0",
						"[::1]:0" };

	(void)state;
	for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++) {
		struct viewer *viewer;
		unsigned int port;

		if (create(loopback[i], NULL, &viewer))
			/* The machine has no IPv6. */
			continue;
		assert_int_equal(sscanf(strrchr(viewer_url(viewer), ':'), ":%u", &port), 1);
		assert_true(port > 0);
		assert_true(!strncmp(viewer_url(viewer), "http://127.", 11) ||
			    !strncmp(viewer_url(viewer), "http://[::1]", 12));
		viewer_destroy(viewer);
	}
}

static void a_port_that_is_taken_is_an_error_only_if_it_was_asked_for(void **state)
{
	struct viewer *one, *other;
	char address[64];

	(void)state;
	assert_int_equal(create("127.0.0.1:0", NULL, &one), 0);
	snprintf(address, sizeof(address), "%s", viewer_url(one) + strlen("http://"));
	assert_refused(address, -EADDRINUSE, "cannot listen on");
	viewer_destroy(one);
	/* The default port may be in use already, and is in use by the first of these. */
	assert_int_equal(create(NULL, NULL, &one), 0);
	assert_int_equal(create(NULL, NULL, &other), 0);
	assert_string_not_equal(viewer_url(one), viewer_url(other));
	viewer_destroy(one);
	viewer_destroy(other);
}

static void it_answers_from_start_to_stop(void **state)
{
	static const char request[] = "GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct viewer *viewer;
	char answer[4096];
	int fd;

	(void)state;
	assert_int_equal(create("127.0.0.1:0", NULL, &viewer), 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((uint16_t)atoi(strrchr(viewer_url(viewer), ':') + 1));
	assert_int_equal(viewer_start(viewer), 0);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(write(fd, request, strlen(request)), strlen(request));
	assert_true(read(fd, answer, sizeof(answer)) > 12);
	assert_memory_equal(answer, "HTTP/1.1 ", 9);
	viewer_stop(viewer);
	/* The server closes the connection, and nobody listens any more. */
	while (read(fd, answer, sizeof(answer)) > 0)
		;
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), -1);
	close(fd);
	viewer_destroy(viewer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_that_make_no_sense_are_refused),
		cmocka_unit_test(others_than_this_machine_need_a_token),
		cmocka_unit_test(the_address_is_told_with_its_port),
		cmocka_unit_test(a_port_that_is_taken_is_an_error_only_if_it_was_asked_for),
		cmocka_unit_test(it_answers_from_start_to_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
