/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names as Ruby 3.4 and later show them, which are put together from an instruction sequence, those around it, and the class
 * that has the method: `Integer#times`, `block in Thing.of_class` (vm_backtrace.c, calculate_iseq_label() and
 * gen_method_name()). A class without a lasting name is left out, and so is what is no class.
 */
#ifndef INTERPRETERS_RUBY_RUBY_LABEL_H
#define INTERPRETERS_RUBY_RUBY_LABEL_H

#include <stddef.h>
#include <stdint.h>

#include "interpreters/ruby/ruby_layout.h"
#include "interpreters/ruby/ruby_strings.h"
#include "lib/host/remote_memory.h"

/** Sequences around one that are looked at. */
enum { RUBY_LABEL_MAX_SEQUENCES = 128 };

/** The class that has a method. */
struct ruby_owner {
	ruby_text path;
	size_t length;
	/** Between the path and the name; 0: there is no path. */
	char separator;
};

/** The owner of the method entry at @entry, which may have no name. -EBADMSG, -EFAULT, -ESRCH. */
int ruby_owner_read(struct remote_memory *memory, const struct ruby_layout *layout, uint64_t entry,
		    struct ruby_owner *owner);

/** Puts the owner before the name of a method; a name that would be too long stays as it is. */
void ruby_owner_add(const struct ruby_owner *owner, ruby_text name, size_t *length);

/**
 * What is shown of the sequence at @address, which runs for a method of @owner. -EBADMSG if the sequences around it are
 * none, or too many; -EFAULT, -ESRCH.
 */
int ruby_label_read(struct remote_memory *memory, const struct ruby_layout *layout,
		    uint64_t address, const struct ruby_owner *owner, ruby_text label,
		    size_t *length);

#endif
