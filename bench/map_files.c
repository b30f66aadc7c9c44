// SPDX-License-Identifier: Apache-2.0
/*
 * `map_files FILE...`: maps the executable segments of ELF files, as a dynamic linker would, and
 * sleeps: a process with many libraries, of which none runs.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { SEGMENTS_MAX = 64, PAGE_BYTES = 4096 };

static void map_segments(int file)
{
	Elf64_Phdr segments[SEGMENTS_MAX];
	Elf64_Ehdr header;

	if (pread(file, &header, sizeof(header), 0) != sizeof(header) ||
	    header.e_phnum > SEGMENTS_MAX ||
	    pread(file, segments, header.e_phnum * sizeof(*segments), header.e_phoff) < 0)
		return;
	for (int i = 0; i < header.e_phnum; i++) {
		const Elf64_Phdr *segment = &segments[i];
		size_t before = segment->p_offset % PAGE_BYTES;

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
			mmap(NULL, segment->p_filesz + before, PROT_READ | PROT_EXEC, MAP_PRIVATE,
			     file, segment->p_offset - before);
	}
}

int main(int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 1; i < argc; i++) {
		int file = open(argv[i], O_RDONLY);

		if (file >= 0) {
			map_segments(file);
			close(file);
		}
	}
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}
