// SPDX-License-Identifier: Apache-2.0
#include "agent/start_warnings.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* The lines that @warn writes to standard error; the caller frees them. */
static char *logged(void (*warn)(void *context), void *context)
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);
	char *text = calloc(1, 1024);

	assert_non_null(file);
	assert_non_null(text);
	dup2(fileno(file), STDERR_FILENO);
	warn(context);
	dup2(before, STDERR_FILENO);
	close(before);
	assert_true(pread(fileno(file), text, 1023, 0) >= 0);
	fclose(file);
	return text;
}

static int listen_somewhere(uint16_t *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

static void warn_of_port(void *context)
{
	log_taken_port("/proc", *(uint16_t *)context, 42365);
}

static void who_listens_at_a_port_is_found(void **state)
{
	char expected[128], *text;
	uint16_t port;
	int fd = listen_somewhere(&port);

	(void)state;
	prctl(PR_SET_NAME, "a listener");
	assert_int_equal(find_listener("/proc", port), getpid());
	text = logged(warn_of_port, &port);
	snprintf(expected, sizeof(expected),
		 "info: port %u is taken (by a listener, %d); using 42365\n", port, (int)getpid());
	assert_string_equal(text, expected);
	free(text);
	close(fd);
	assert_int_equal(find_listener("/proc", port), 0);
	text = logged(warn_of_port, &port);
	snprintf(expected, sizeof(expected), "info: port %u is taken; using 42365\n", port);
	assert_string_equal(text, expected);
	free(text);
}

static void warn_of_comms(void *context)
{
	warn_of_missing_comms(context, "/proc");
}

static void a_name_that_no_process_has_is_warned_of(void **state)
{
	char comms[2][COMM_BYTES] = { "no-such-process", "some-process" };
	struct options options = { .comms = comms, .comm_count = 2 };
	char *text;

	(void)state;
	prctl(PR_SET_NAME, "some-process");
	text = logged(warn_of_comms, &options);
	assert_non_null(strstr(text, "warn: -comm no-such-process: no process has this name now"));
	assert_null(strstr(text, "some-process"));
	free(text);
	strcpy(comms[0], "some-proces");
	text = logged(warn_of_comms, &options);
	assert_string_equal(text,
			    "warn: -comm some-proces: no process has this name now; did you mean "
			    "some-process?\n");
	free(text);
	options.comm_count = 0;
	text = logged(warn_of_comms, &options);
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_listens_at_a_port_is_found),
		cmocka_unit_test(a_name_that_no_process_has_is_warned_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
