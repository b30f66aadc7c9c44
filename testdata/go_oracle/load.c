/* SPDX-License-Identifier: Apache-2.0 */
/* Calls OracleMain(STEP) of a shared library. usage: load LIBRARY STEP */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*run)(int);

	if (!library)
		return fprintf(stderr, "%s\n", dlerror()), 1;
	*(void **)&run = dlsym(library, "OracleMain");
	run(atoi(argv[2]));
	return 0;
}
