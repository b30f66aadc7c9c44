<?php
// SPDX-License-Identifier: Apache-2.0
// A load: PHPUnit, whose tests parse the sources of Debian's libraries, print them from the syntax tree, and parse that again.
declare(strict_types=1);

use PhpParser\NodeDumper;
use PhpParser\NodeTraverser;
use PhpParser\NodeVisitor\NameResolver;
use PhpParser\Parser;
use PhpParser\ParserFactory;
use PhpParser\PrettyPrinter\Standard;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

require_once '/usr/share/php/PhpParser/autoload.php';

final class PrinterTest extends TestCase
{
    private const DIRECTORIES = ['PHPUnit', 'PhpParser', 'SebastianBergmann'];
    // Some minutes.
    private const ROUNDS = 20;

    private static bool $isReady = false;

    public static function files(): iterable
    {
        $files = [];
        foreach (self::DIRECTORIES as $directory) {
            $tree = new RecursiveIteratorIterator(new RecursiveDirectoryIterator('/usr/share/php/' . $directory));
            foreach (new RegexIterator($tree, '/\.php$/') as $file) {
                $files[] = $file->getPathname();
            }
        }
        sort($files);
        for ($round = 0; $round < self::ROUNDS; $round++) {
            foreach ($files as $file) {
                yield $round . ' ' . $file => [$file];
            }
        }
    }

    private static function parser(): Parser
    {
        $factory = new ParserFactory();
        // From version 5 on.
        return method_exists($factory, 'createForHostVersion') ? $factory->createForHostVersion()
            : $factory->create(ParserFactory::PREFER_PHP7);
    }

    /**
     * @dataProvider files
     */
    #[DataProvider('files')]
    public function testPrintedCodeIsTheSame(string $path): void
    {
        if (!self::$isReady) {
            self::$isReady = true;
            fwrite(STDOUT, "ready\n");
        }
        $dumper = new NodeDumper();
        $tree = self::parser()->parse(file_get_contents($path));
        $printed = (new Standard())->prettyPrintFile($tree);
        $traverser = new NodeTraverser();
        $traverser->addVisitor(new NameResolver());
        self::assertNotEmpty($traverser->traverse($tree));
        self::assertSame($dumper->dump(self::parser()->parse($printed)),
            $dumper->dump(self::parser()->parse((new Standard())->prettyPrintFile(self::parser()->parse($printed)))));
    }
}
