/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one request of any size directly to the file. */

#include "reporter/otlp_file.h"

#include <stdlib.h>

static int write_request(void *context, struct otlp_request *request)
{
	fwrite(request->bytes, 1, request->byte_count, context);
	free(request->bytes);
	return 0;
}

int otlp_file_write(FILE *out, const struct sample_snapshot *snapshot,
		    const struct otlp_window *window, const struct otlp_options *options)
{
	struct otlp_options whole = *options;

	whole.max_request_bytes = SIZE_MAX;
	return otlp_build_requests(snapshot, window, &whole, write_request, out);
}
