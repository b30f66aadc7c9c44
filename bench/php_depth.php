<?php
// SPDX-License-Identifier: Apache-2.0
// php_depth.php N [COUNT]: N calls deep in PHP, which all run in one loop of the VM, in turns of COUNT functions (as many as
// calls, if there is none); then busy for ever.

function leaf()
{
    echo "ready\n";
    for (;;) {
    }
}

$depth = (int)$argv[1];
$count = (int)($argv[2] ?? $depth);
$code = '';
for ($i = 0; $i < $count; $i++) {
    $next = ($i + 1) % $count;
    $code .= "function call_$i(\$depth)\n{\n    return \$depth > 1 ? call_$next(\$depth - 1) : leaf();\n}\n";
}
eval($code);
call_0($depth);
