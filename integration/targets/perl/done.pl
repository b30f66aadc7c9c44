# SPDX-License-Identifier: Apache-2.0
sub in_done { Chains::work() }

in_done();
Chains::work();
1;
