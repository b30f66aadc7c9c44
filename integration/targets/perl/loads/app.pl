# SPDX-License-Identifier: Apache-2.0
# A Mojolicious application that answers with JSON and with pages made of templates. Mojolicious's own servers run it (daemon,
# prefork), and those of PSGI (starman). perl_loads_test.py has its client.
use Mojolicious::Lite -signatures;

use List::Util qw(first reduce);

# The encoder of JSON, which is in C for most users, calls its method.
package Price {
    sub new ($class, $cents) { return bless { cents => $cents }, $class }
    sub TO_JSON ($self) { return sprintf '%.2f', $self->{cents} / 100 }
}

sub rows_for ($count) {
    return [map { {id => $_, name => "row <$_>", tags => ['a' . $_ % 7, 'none', 'b'], price => $_ * 125} } 1 .. $count];
}

helper tag_list => sub ($c, $row) { return join ', ', grep { $_ ne 'none' } @{$row->{tags}} };

helper shown_name => sub ($c, $row) {
    my $name = $row->{name};
    $name =~ s/\b(\w)(\w*)/\u$1\L$2/g;
    return $name;
};

under '/' => sub ($c) {
    $c->res->headers->header('X-Load' => 'perl');
    return 1;
};

get '/page/:count' => sub ($c) {
    my $rows = rows_for($c->param('count'));
    my @sorted = sort { $a->{tags}[0] cmp $b->{tags}[0] || $b->{price} <=> $a->{price} } @$rows;
    $c->render(template => 'page', title => $c->param('title'), rows => \@sorted);
};

post '/sum' => sub ($c) {
    my $rows = $c->req->json;
    my %sums;
    for my $row (@$rows) {
        $sums{$_} += $row->{price} for @{$row->{tags}};
        $row->{first} = first { $_ ne 'none' } @{$row->{tags}};
        $row->{price} = Price->new($row->{price});
    }
    my $largest = reduce { $sums{$a} >= $sums{$b} ? $a : $b } sort keys %sums;
    $c->render(json => {sums => \%sums, largest => $largest, rows => $rows});
};

# It dies in a handler, which the framework catches.
get '/missing/:name' => sub ($c) {
    my $row = eval { die {name => $c->param('name')} } || $@;
    $c->render(json => {missing => $row->{name}}, status => 404);
};

app->start;

__DATA__

@@ layouts/frame.html.ep
<!DOCTYPE html>
<html><head><title><%= title %></title></head><body>
<%= content %>
</body></html>

@@ row.html.ep
<tr><td><%= $row->{id} %></td><td><%= shown_name $row %></td><td><%= tag_list $row %></td><td><%= $row->{price} / 100 %></td></tr>

@@ page.html.ep
% layout 'frame', title => $title;
<h1><%= $title %></h1>
<table>
% for my $row (@$rows) {
%= include 'row', row => $row
% }
</table>
