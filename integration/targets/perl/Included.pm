# SPDX-License-Identifier: Apache-2.0
package Included;

use strict;
use warnings;

Chains::work();

sub import {
    Chains::work();
}

sub unimport {
    Chains::work();
}

1;
