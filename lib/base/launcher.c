/* SPDX-License-Identifier: Apache-2.0 */
/*
 * It trusts its input as far as the lists go: whoever has taken over the agent can have the listed programs
 * started and files made in the listed folders, and nothing else. Memory is not shared with the agent.
 */
#include "lib/base/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/message_socket.h"

enum {
	/* The launcher's own socket, above all descriptors that programs are given. */
	LAUNCHER_SOCKET = LAUNCH_NUMBER_MAX + 1,
	/* How long an answer may take; it takes milliseconds. */
	ANSWER_MAX_SECONDS = 20,
	EXIT_NO_PROGRAM = 127,
};

struct program_request {
	uint32_t rule;
	int32_t nice_value;
	/* Number of the descriptor that comes with the packet, or -1. */
	int32_t number;
	char digits[LAUNCH_DIGITS_MAX + 1];
};

struct launch_request {
	/* Else it is about a folder. */
	uint32_t is_program;
	union {
		struct program_request program;
		struct folder_request folder;
	};
};

/*
 * A process must be waited for even if it could not become the program. With an answer about a folder comes the file that was
 * made.
 */
struct launch_answer {
	int32_t err;
	int32_t pid;
};

/* One for the whole process. Its socket is -1 while there is no launcher. */
static struct {
	int socket;
	pid_t pid;
	struct launch_lists lists;
	/* Held while the launcher starts a program. */
	pthread_mutex_t lock;
} launcher = { .socket = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- inside the launcher --- */

static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the new process. Returns -errno. */
static int become(const struct program_request *request, int given, pid_t agent)
{
	const struct launch_rule *rule = &launcher.lists.rules[request->rule];
	char *arguments[] = { (char *)rule->name, (char *)rule->argument,
			      rule->has_digits ? (char *)request->digits : NULL, NULL };

	reset_signals();
	setpgid(0, 0);
	(void)setpriority(PRIO_PROCESS, 0, request->nice_value);
	if (rule->is_bound) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != agent)
			return -ESRCH;
	}
	if (given >= 0) {
		int result = given == request->number ? fcntl(given, F_SETFD, 0) :
							dup2(given, request->number);

		if (result < 0)
			return -errno;
	}
	execvp(rule->program, arguments);
	return -errno;
}

/*
 * The new process has a copy of the memory, and this one waits until it has become the program or has ended.
 * With CLONE_PARENT it is the agent's child, not ours.
 */
static void launch(const struct program_request *request, int given, pid_t agent, int *shared_err,
		   struct launch_answer *answer)
{
	__atomic_store_n(shared_err, 0, __ATOMIC_RELAXED);
	answer->pid = (int32_t)syscall(SYS_clone, CLONE_PARENT | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
	if (!answer->pid) {
		__atomic_store_n(shared_err, become(request, given, agent), __ATOMIC_RELAXED);
		_exit(EXIT_NO_PROGRAM);
	}
	answer->err = answer->pid < 0 ? -errno : __atomic_load_n(shared_err, __ATOMIC_RELAXED);
}

static bool is_allowed(const struct program_request *request, const struct message_fds *fds)
{
	size_t length = strnlen(request->digits, sizeof(request->digits));

	return request->rule < launcher.lists.rule_count && length < sizeof(request->digits) &&
	       strspn(request->digits, "0123456789abcdef") == length &&
	       launcher.lists.rules[request->rule].has_digits == (length > 0) && fds->count <= 1 &&
	       (fds->count ?
			request->number > STDERR_FILENO && request->number <= LAUNCH_NUMBER_MAX :
			request->number == -1);
}

/* Nothing that the agent has opened stays open. Programs inherit the standard streams. */
static int leave_files(int socket)
{
	_cleanup_(close_fd) int null_fd = -1;

	if (socket != LAUNCHER_SOCKET && dup3(socket, LAUNCHER_SOCKET, O_CLOEXEC) < 0)
		return -errno;
	null_fd = open("/dev/null", O_RDWR);
	if (null_fd < 0)
		return -errno;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(null_fd, fd) < 0)
			return -errno;
	(void)syscall(SYS_close_range, LAUNCHER_SOCKET + 1, ~0U, 0);
	(void)syscall(SYS_close_range, STDERR_FILENO + 1, LAUNCHER_SOCKET - 1, 0);
	(void)take_fd(null_fd);
	return 0;
}

/* Owner: the launcher. */
static struct file_folder folders[LAUNCH_FOLDERS_MAX];

/* A folder that is not there is tried again with each request, so that its error is told. */
static void open_folders(void)
{
	for (size_t i = 0; i < launcher.lists.folder_count; i++) {
		const struct launch_folder *listed = &launcher.lists.folders[i];

		folders[i] = (struct file_folder){ .kind = listed->kind,
						   .path = listed->path,
						   .fd = -1 };
		(void)file_folder_open(&folders[i]);
	}
}

static int do_folder(const struct folder_request *request, int *fd)
{
	struct file_folder *folder;
	int err = 0;

	if (request->folder >= launcher.lists.folder_count)
		return -EPERM;
	folder = &folders[request->folder];
	if (folder->fd < 0)
		err = file_folder_open(folder);
	return err ? err : file_folder_do(folder, request, fd);
}

/* Returns an error of the socket. */
static int serve_one(pid_t agent, int *shared_err)
{
	_cleanup_(message_fds_deinit) struct message_fds fds = { 0 };
	struct launch_answer answer = { .err = -EPERM };
	struct launch_request request;
	_cleanup_(close_fd) int made = -1;
	ssize_t size = message_receive(LAUNCHER_SOCKET, &request, sizeof(request), &fds);

	if (size < 0)
		return (int)size;
	if (size != sizeof(request))
		return -EBADMSG;
	if (!request.is_program)
		answer.err = do_folder(&request.folder, &made);
	else if (is_allowed(&request.program, &fds))
		launch(&request.program, fds.count ? fds.fds[0] : -1, agent, shared_err, &answer);
	return message_send(LAUNCHER_SOCKET, &answer, sizeof(answer), &made, made >= 0);
}

static void serve(int socket, pid_t agent)
{
	int *shared_err = mmap(NULL, sizeof(*shared_err), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	prctl(PR_SET_NAME, "launcher");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Signals of a terminal are for the agent. */
	setpgid(0, 0);
	reset_signals();
	if (shared_err == MAP_FAILED || leave_files(socket) || getppid() != agent)
		return;
	open_folders();
	while (!serve_one(agent, shared_err))
		;
}

/* --- the agent's side --- */

int launcher_start(const struct launch_lists *lists)
{
	const struct timeval timeout = { .tv_sec = ANSWER_MAX_SECONDS };
	int sockets[2];
	pid_t agent = getpid(), pid;

	if (launcher.socket >= 0)
		return fail_errno(-EALREADY, "the launcher of programs");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return fail_errno(-errno, "cannot make the socket of the launcher of programs");
	launcher.lists = *lists;
	pid = fork();
	if (!pid) {
		serve(sockets[1], agent);
		_exit(0);
	}
	close(sockets[1]);
	if (pid < 0 || setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout))) {
		int err = -errno;

		close(sockets[0]);
		if (pid > 0)
			waitpid(pid, NULL, 0);
		return fail_errno(err, "cannot start the launcher of programs");
	}
	launcher.socket = sockets[0];
	launcher.pid = pid;
	return 0;
}

void launcher_stop(void)
{
	pthread_mutex_lock(&launcher.lock);
	if (launcher.socket >= 0) {
		close(launcher.socket);
		launcher.socket = -1;
		kill(launcher.pid, SIGKILL);
		waitpid(launcher.pid, NULL, 0);
	}
	pthread_mutex_unlock(&launcher.lock);
}

bool launcher_is_running(void)
{
	return launcher.socket >= 0;
}

static bool is_for(const struct launch_rule *rule, const char *program, char *const arguments[])
{
	return !strcmp(rule->program, program) && arguments[1] &&
	       !strcmp(rule->argument, arguments[1]) &&
	       (rule->has_digits ? arguments[2] && !arguments[3] : !arguments[2]);
}

static int find_rule(const char *program, char *const arguments[], uint32_t *rule)
{
	for (uint32_t i = 0; i < launcher.lists.rule_count; i++) {
		if (is_for(&launcher.lists.rules[i], program, arguments)) {
			*rule = i;
			return 0;
		}
	}
	return -EPERM;
}

/* To be called with the lock held. */
static int ask(const struct launch_request *request, int given, struct launch_answer *answer,
	       struct message_fds *made)
{
	ssize_t size;
	int err;

	if (launcher.socket < 0)
		return -EPIPE;
	err = message_send(launcher.socket, request, sizeof(*request), &given, given >= 0);
	if (err)
		return err;
	size = message_receive(launcher.socket, answer, sizeof(*answer), made);
	if (size == sizeof(*answer))
		return 0;
	/* A late answer would be taken for that to the next request. */
	shutdown(launcher.socket, SHUT_RDWR);
	return size < 0 ? (int)size : -EBADMSG;
}

int launcher_run(const char *program, char *const arguments[], int given, int number, pid_t *pid)
{
	struct launch_request request = {
		.is_program = true,
		.program.nice_value = getpriority(PRIO_PROCESS, 0),
		.program.number = given >= 0 ? number : -1,
	};
	struct launch_answer answer;
	int err = find_rule(program, arguments, &request.program.rule);

	if (err)
		return err;
	if (launcher.lists.rules[request.program.rule].has_digits) {
		if (strlen(arguments[2]) > LAUNCH_DIGITS_MAX)
			return -E2BIG;
		strcpy(request.program.digits, arguments[2]);
	}
	pthread_mutex_lock(&launcher.lock);
	err = ask(&request, given, &answer, NULL);
	pthread_mutex_unlock(&launcher.lock);
	if (err)
		return err;
	if (answer.err) {
		if (answer.pid > 0)
			waitpid(answer.pid, NULL, 0);
		return answer.err;
	}
	*pid = answer.pid;
	return 0;
}

bool launcher_find_folder(enum folder_kind kind, const char *path, uint32_t *index)
{
	for (uint32_t i = 0; launcher_is_running() && i < launcher.lists.folder_count; i++) {
		const struct launch_folder *listed = &launcher.lists.folders[i];

		if (listed->kind == kind && !strcmp(listed->path, path)) {
			*index = i;
			return true;
		}
	}
	return false;
}

int launcher_ask_folder(const struct folder_request *request, int *fd)
{
	const struct launch_request whole = { .folder = *request };
	_cleanup_(message_fds_deinit) struct message_fds made = { 0 };
	struct launch_answer answer;
	int err;

	pthread_mutex_lock(&launcher.lock);
	err = ask(&whole, -1, &answer, &made);
	pthread_mutex_unlock(&launcher.lock);
	if (err || answer.err)
		return err ? err : answer.err;
	if (made.count)
		*fd = take_fd(made.fds[0]);
	return 0;
}
