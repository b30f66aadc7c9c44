# SPDX-License-Identifier: Apache-2.0
# Calls subs with serial numbers, all of the same shape. The oldest is replaced by a new one all the time, which then takes its
# memory. Writes to standard error when each was made and removed: its number and two times of CLOCK_MONOTONIC in ns.
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my $alive_count = 8;
my @alive;

sub remove {
    my ($number, $born) = @_;
    no strict 'refs';
    undef &{"serial_$number"};
    delete $main::{"serial_$number"};
    printf STDERR "%d %.0f %.0f\n", $number, $born * 1e9, clock_gettime(CLOCK_MONOTONIC) * 1e9;
}

$| = 1;
print "ready\n";
for (my $serial = 1; ; $serial++) {
    remove(@{shift @alive}[0, 1]) if @alive == $alive_count;
    my $born = clock_gettime(CLOCK_MONOTONIC);
    eval "sub serial_$serial {
        my \$x = shift;
        for (my \$i = 0; \$i < 5000; \$i++) {
            \$x = (\$x * 31 + \$i) & 0xffff;
        }
        return \$x;
    } 1" or die;
    push @alive, [$serial, $born, "serial_$serial"];
    no strict 'refs';
    &{$_->[2]}($serial) for @alive;
}
