/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Makes names as Ruby 3.4 and later show them, from an instruction sequence, the sequences around it, and the class
 * that has the method: `Integer#times`, `block in Thing.of_class` (vm_backtrace.c, calculate_iseq_label() and
 * gen_method_name()). A class without a permanent name is left out, and so is an object that is no class.
 */
#ifndef INTERPRETERS_RUBY_RUBY_LABEL_H
#define INTERPRETERS_RUBY_RUBY_LABEL_H

#include <stddef.h>
#include <stdint.h>

#include "interpreters/ruby/ruby_layout.h"
#include "interpreters/ruby/ruby_strings.h"
#include "lib/host/remote_memory.h"

/** Limit of nested sequences that are read. */
enum { RUBY_LABEL_MAX_SEQUENCES = 128 };

/** The class that has a method. */
struct ruby_owner {
	ruby_text path;
	size_t length;
	/** The character between the path and the name; 0: there is no path. */
	char separator;
};

/** Reads the owner of the method entry at @entry; the owner may have no name. -EBADMSG, -EFAULT, -ESRCH. */
int ruby_owner_read(struct remote_memory *memory, const struct ruby_layout *layout, uint64_t entry,
		    struct ruby_owner *owner);

/** Puts the owner before the name of a method, unless the name would be too long. */
void ruby_owner_add(const struct ruby_owner *owner, ruby_text name, size_t *length);

/**
 * Makes the label of the sequence at @address, which runs for a method of @owner. -EBADMSG if the sequences around it
 * are invalid or too many; -EFAULT, -ESRCH.
 */
int ruby_label_read(struct remote_memory *memory, const struct ruby_layout *layout,
		    uint64_t address, const struct ruby_owner *owner, ruby_text label,
		    size_t *length);

#endif
