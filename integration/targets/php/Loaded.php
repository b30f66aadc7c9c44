<?php
// SPDX-License-Identifier: Apache-2.0
work();

class Loaded
{
    public static function isHere()
    {
        work();
    }
}
