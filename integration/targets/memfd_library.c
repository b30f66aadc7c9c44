/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a shared object from memory that has no name in any file system, and runs its main().
 *
 * usage: memfd_library FILE
 */
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

static int copy_to_memory(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	int memory = memfd_create("memfd_library", MFD_CLOEXEC);
	ssize_t copied;

	if (file < 0 || memory < 0)
		err(1, "%s", path);
	while ((copied = sendfile(memory, file, NULL, 1 << 30)) > 0)
		;
	if (copied < 0)
		err(1, "sendfile");
	close(file);
	return memory;
}

int main(int argc, char **argv)
{
	int (*run)(void) = NULL;
	char path[64];
	void *library;

	if (argc != 2)
		errx(2, "usage: memfd_library FILE");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", copy_to_memory(argv[1]));
	library = dlopen(path, RTLD_NOW);
	if (library)
		run = (int (*)(void))dlsym(library, "main");
	if (!run)
		errx(1, "%s", dlerror());
	return run() + 1;
}
