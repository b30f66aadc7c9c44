# SPDX-License-Identifier: Apache-2.0
# perl_depth.pl N [COUNT]: N calls deep in Perl, which all run in one loop, in turns of COUNT subs (as many as calls, if there
# is none); then busy for ever.
use strict;
use warnings;
no warnings 'recursion';

sub leaf {
    $| = 1;
    print "ready\n";
    1 while 1;
}

my ($depth, $count) = @ARGV;
$count //= $depth;
for my $i (0 .. $count - 1) {
    my $next = ($i + 1) % $count;
    eval "no warnings 'recursion'; sub call_$i { my \$depth = shift; return \$depth > 1 ? call_$next(\$depth - 1) : leaf() } 1"
        or die $@;
}
no strict 'refs';
&{'call_0'}($depth);
