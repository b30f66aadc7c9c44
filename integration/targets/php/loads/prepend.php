<?php
// SPDX-License-Identifier: Apache-2.0
// Comes before each script of DokuWiki: nginx.conf says where its settings are.
define('DOKU_CONF', $_SERVER['WIKI_CONFIGURATION'] . '/');
