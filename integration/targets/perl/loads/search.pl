# SPDX-License-Identifier: Apache-2.0
# ack over the modules that come with Perl, so often that it goes on for as long as it is wanted.
use strict;
use warnings;

use constant TREE => '/usr/share/perl';
use constant TIMES => 10000;
use constant PATTERN => '\b(?:my|our)\s+[\$\@%](\w+)\s*=\s*(?:shift|\w+::\w+)\b';

$| = 1;
print "ready\n";
open STDOUT, '>', '/dev/null' or die $!;
@ARGV = ('--noenv', '--perl', PATTERN, (TREE) x TIMES);
do '/usr/bin/ack' or die $@ || $!;
