# SPDX-License-Identifier: Apache-2.0
package Included;

use strict;
use warnings;
no warnings 'redefine';

Chains::work();

sub import {
    Chains::work();
}

sub unimport {
    Chains::work();
}

1;
