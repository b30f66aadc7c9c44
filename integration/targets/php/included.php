<?php
// SPDX-License-Identifier: Apache-2.0
work();
over_array_map();

return true;
