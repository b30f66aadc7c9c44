/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/soft_limit.h"

enum {
	/** Programs, maps and links, rings, outputs, connections, and some files that are mapped. */
	DESCRIPTORS_MIN = 256,
	/** Descriptors per CPU: its clock event and its side-band. */
	DESCRIPTORS_OF_CPU = 2,
};

static void fill_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    /* The lowest that is free. */
		    open("/dev/null", O_RDWR) != fd)
			return;
}

void process_setup(void)
{
	fill_standard_streams();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	soft_limit_raise(RLIMIT_NOFILE);
}

int process_check_descriptors(void)
{
	long cpu_count = sysconf(_SC_NPROCESSORS_CONF);
	rlim_t needed =
		DESCRIPTORS_MIN + DESCRIPTORS_OF_CPU * (rlim_t)(cpu_count > 0 ? cpu_count : 1);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed)
		return 0;
	return fail(
		-EMFILE,
		"%llu open files are allowed, and %llu are needed: raise the limit (ulimit -n, or LimitNOFILE= of a service)",
		(unsigned long long)limit.rlim_cur, (unsigned long long)needed);
}
