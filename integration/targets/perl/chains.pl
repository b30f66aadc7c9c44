# SPDX-License-Identifier: Apache-2.0
# Chains of subs, evals and files, each of which ends in work(). As `reference` it prints what caller() says there, a line for
# each frame, innermost first, and an empty line behind each chain. Else it says `ready` and works on.
package Chains;

use strict;
use warnings;
use List::Util qw(first reduce);
use File::Basename qw(dirname);
use Cwd qw(abs_path);

use constant REFERENCE => ($ARGV[0] // '') eq 'reference';
use constant ROUNDS => 400;

our $DIRECTORY = dirname(abs_path(__FILE__));
our $AUTOLOAD;
our $has_said;

# The position of a frame is where it calls the one inside it; work() may be at any of its lines.
sub record {
    my ($level, $text) = (1, '');
    my ($file, $line) = (__FILE__, 0);
    while (my ($package, $at_file, $at_line, $name, undef, undef, undef, $is_file) = caller($level++)) {
        $text .= join("\t", $is_file ? '(require)' : $name, $file, $line) . "\n";
        ($file, $line) = ($at_file, $at_line);
    }
    print $text, join("\t", '(main)', $file, $line), "\n\n";
}

sub work {
    return record() if REFERENCE;
    my $sum = 0;
    for my $i (1 .. ROUNDS) {
        $sum += $i;
    }
    return $sum;
}

sub outer {
    my $value = shift;
    inner($value, 1);
    return $value;
}

sub inner {
    my $closure = sub { work() };
    if ($_[1]) {
        $closure->();
    }
    foreach my $i (1 .. 2) {
        recurse(3);
    }
}

sub recurse {
    my $left = shift;
    return work() unless $left;
    return recurse($left - 1);
}

sub evals {
    eval { work(); };
    eval { eval { work(); 1 }; die "again\n"; };
    eval "work(); 1" or die $@;
    eval "#line 77 \"elsewhere.pl\"\nwork(); 1" or die $@;
    my $died = eval { dies(); 1 };
    work() unless $died;
}

sub dies {
    work();
    die "in dies\n";
}

sub files {
    delete $INC{'Included.pm'};
    require Included;
    do "$DIRECTORY/done.pl";
    eval "use Included qw(a); 1" or die $@;
    eval "BEGIN { Chains::work() } 1" or die $@;
}

sub by_number {
    work();
    return $a <=> $b;
}

sub lists {
    my @sorted = sort { work(); $a <=> $b } 3, 2;
    @sorted = sort by_number 3, 2;
    my @mapped = map { work(); $_ } 1;
    my @found = grep { work() } 1;
    my $first = first { work(); $_ > 1 } 1, 2;
    my $sum = reduce { work(); $a + $b } 1, 2, 3;
    $first = first { first { work(); 1 } 1 } 1;
    $sum = reduce { inner_sort(); $a + $b } 1, 2;
    return @sorted, @mapped, @found;
}

sub inner_sort {
    my @sorted = sort { eval { work(); 1 }; work(); $a <=> $b } 3, 2;
}

sub sub_in_pattern {
    my $text = 'abc';
    $text =~ s/(b)/work(); "x"/e;
    $text =~ /a(?{ work() })x/;
    return $text;
}

sub AUTOLOAD {
    my $name = $AUTOLOAD;
    return if $name =~ /::DESTROY$/;
    work();
    goto &jumped_to if $name =~ /jumping/;
}

sub jumped_to {
    work();
}

sub lvalue :lvalue {
    work();
    $has_said;
}

package Object;

use overload
    '""' => sub { Chains::work(); 'object' },
    '+' => \&add,
    '<=>' => sub { $_[0]{value} <=> $_[1]{value} },
    'bool' => sub { Chains::work(); 1 };

sub new { return bless { value => $_[1] }, $_[0] }

sub add {
    my ($self, $other) = @_;
    Chains::work();
    return eval { Chains::work(); 3 };
}

sub DESTROY {
    Chains::work();
}

package Tied;

sub TIESCALAR { return bless [], shift }
sub FETCH { Chains::work(); return eval { Chains::work(); 7 } }
sub STORE { Chains::outer($_[1]) }
sub TIEHASH { return bless {}, shift }
sub FIRSTKEY { Chains::work(); return 'key' }
sub NEXTKEY { return undef }

package Chains;

sub magic {
    {
        my $object = Object->new(1);
        my $text = "$object";
        my $sum = $object + 2;
        my $first = first { $object } 1;
        my $other = first { $_ } $object, $object;
    }
    tie my $scalar, 'Tied';
    my $value = $scalar;
    $scalar = 5;
    tie my %hash, 'Tied';
    my @keys = keys %hash;
    {
        local $SIG{__WARN__} = sub { work() };
        warn "a warning\n";
        local $SIG{__DIE__} = sub { work() };
        eval { die "an exception\n" };
    }
    {
        local $SIG{USR1} = sub { work() };
        kill USR1 => $$;
    }
    Chains->autoloaded();
    Chains->jumping();
    lvalue() = 2;
}

sub deep_die {
    eval {
        my $first = first { my $guard = Object->new(2); die "out of first\n" } 1;
        1;
    } or work();
    eval { my $object = Object->new(3); dies(); };
}

sub formatted {
    our $formatted = 'x';
    my $text = '';
    open my $out, '>', \$text or die;
    my $old = select $out;
    write $out;
    select $old;
}

format STDOUT =
@<<<
work() && ''
.

sub everything {
    outer(1);
    evals();
    files();
    lists();
    sub_in_pattern();
    magic();
    deep_die();
}

push @INC, $DIRECTORY;
$| = 1;
print "ready\n" unless REFERENCE;
while (1) {
    everything();
    last if REFERENCE;
}
