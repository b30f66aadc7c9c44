<?php
// SPDX-License-Identifier: Apache-2.0
// Settings of DokuWiki: its data is beside them, and everybody may write.
$conf['savedir'] = DOKU_CONF . 'data';
$conf['useacl'] = 0;
// A page is indexed as soon as it is there.
$conf['indexdelay'] = 0;
