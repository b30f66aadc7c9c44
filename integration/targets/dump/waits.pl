# SPDX-License-Identifier: Apache-2.0
# Prints its stack as Perl has it, and waits there.
$| = 1;

sub tell_stack {
	for (my $i = 0; my @call = caller($i); $i++) {
		my @outer = caller($i + 1);
		print join("\t", "frame", @outer ? $outer[3] : "(main)", $call[2]), "\n";
	}
	print "end\nready\n";
}

sub innermost {
	# On one line, so that it is the line of both.
	tell_stack(); sleep 1000;
}

package Waiter;

sub recurse {
	my ($self, $left) = @_;
	return $self->recurse($left - 1) if $left;
	my @sorted = sort { main::innermost(); 0 } 1, 2;
	return @sorted;
}

package main;

Waiter->recurse(3);
