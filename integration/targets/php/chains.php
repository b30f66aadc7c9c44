<?php
// SPDX-License-Identifier: Apache-2.0
// Chains of functions and methods, each of which ends in work(). As `reference` it prints what debug_backtrace() says there, a
// line for each frame, innermost first, and an empty line behind each chain. Else it says `ready` and works on.

// What versions disagree about.
error_reporting(E_ALL & ~E_DEPRECATED);
define('REFERENCE', ($_SERVER['argv'][1] ?? '') === 'reference');
const ROUNDS = 1500;
const INTERNAL = '<internal>';

// A function's location is where it calls the one inside it. Functions in C call without a location.
function record(array $calls)
{
    $text = "work\t" . __FILE__ . "\t0\n";
    $count = count($calls);
    for ($i = 1; $i <= $count; $i++) {
        $call = $calls[$i] ?? ['function' => '{main}'];
        $name = isset($call['class']) ? strstr($call['class'] . "\0", "\0", true) . '::' : '';
        $file = $calls[$i - 1]['file'] ?? INTERNAL;
        $line = $calls[$i - 1]['line'] ?? 0;
        $text .= $name . $call['function'] . "\t" . $file . "\t" . $line . "\n";
    }
    echo $text, "\n";
}

function work()
{
    if (REFERENCE) {
        return record(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS));
    }
    for ($i = 0, $sum = 0; $i < ROUNDS; $i++) {
        $sum += $i;
    }
}

function nearly_nothing($one = 1, $two = 2)
{
    return REFERENCE ? work() : $one <=> $two;
}

function first()
{
    second(3);
}

function second($times)
{
    $closure = function () use ($times) {
        work();
        return $times;
    };
    $closure();
    third(fn () => work());
}

function third(callable $function)
{
    $function();
}

function over_array_map()
{
    array_map(function ($x) {
        array_walk($x, function ($y) {
            work();
        });
    }, [[1, 2], [3]]);
    array_map('work', [1]);
    array_map('array_map', ['work'], [[1]]);
    call_user_func_array('nearly_nothing', [2, 1]);
}

function over_usort()
{
    $list = [3, 1, 2];
    usort($list, function ($a, $b) {
        include __DIR__ . '/included.php';
        return $a <=> $b;
    });
}

function over_regex()
{
    preg_replace_callback('/[a-c]/', function ($match) {
        work();
        return $match[0];
    }, 'abc');
}

function recurse($depth)
{
    return $depth ? recurse($depth - 1) : work();
}

function recurse_over_c($depth)
{
    if (!$depth) {
        return work();
    }
    array_map(function ($next) {
        recurse_over_c($next);
    }, [$depth - 1]);
}

class Base
{
    public function inherited()
    {
        work();
    }

    public static function factory()
    {
        return new static();
    }
}

trait Shared
{
    public function fromTrait()
    {
        work();
    }
}

class Thing extends Base implements ArrayAccess, IteratorAggregate
{
    use Shared;

    public function __construct()
    {
        work();
    }

    public function __destruct()
    {
        work();
    }

    public function __call($name, $arguments)
    {
        work();
    }

    public static function __callStatic($name, $arguments)
    {
        work();
    }

    public function __get($name)
    {
        work();
        return 1;
    }

    public function __set($name, $value)
    {
        work();
    }

    public function __isset($name)
    {
        work();
        return true;
    }

    public function __toString()
    {
        work();
        return 'thing';
    }

    public function __invoke()
    {
        work();
    }

    #[ReturnTypeWillChange]
    public function offsetGet($offset)
    {
        work();
        return $this->absent;
    }

    #[ReturnTypeWillChange]
    public function offsetSet($offset, $value)
    {
        work();
    }

    #[ReturnTypeWillChange]
    public function offsetExists($offset)
    {
        work();
        return true;
    }

    #[ReturnTypeWillChange]
    public function offsetUnset($offset)
    {
        work();
    }

    #[ReturnTypeWillChange]
    public function getIterator()
    {
        work();
        return new Steps();
    }

    private function hidden()
    {
        work();
    }
}

class Steps implements Iterator
{
    private $step = 0;

    #[ReturnTypeWillChange]
    public function rewind()
    {
        work();
        $this->step = 0;
    }

    #[ReturnTypeWillChange]
    public function valid()
    {
        nearly_nothing();
        return true;
    }

    #[ReturnTypeWillChange]
    public function current()
    {
        work();
        return $this->step;
    }

    #[ReturnTypeWillChange]
    public function key()
    {
        nearly_nothing();
        return $this->step;
    }

    #[ReturnTypeWillChange]
    public function next()
    {
        work();
        $this->step++;
        if ($this->step > 3) {
            throw new LengthException('too far');
        }
    }
}

class Destroyed
{
    public function __destruct()
    {
        work();
    }
}

function holds()
{
    work();
    $held = new Destroyed();
}

function holds_in($value)
{
    work();
    $held = new Destroyed();
    $other = function () use ($held) {
        return $held;
    };
    return $value;
}

function objects()
{
    $thing = new Thing();
    $thing->inherited();
    $thing->fromTrait();
    $thing->absent(1);
    Thing::absent(1);
    $thing->absent = $thing->absent . isset($thing->missing);
    strlen((string) $thing);
    $thing();
    $thing['a'] = $thing['b'];
    isset($thing['c']);
    unset($thing['d']);
    array_map([$thing, 'inherited'], [1]);
    $method = new ReflectionMethod('Thing', 'hidden');
    $method->setAccessible(true);
    $method->invoke($thing);
    $anonymous = new class extends Base {
        public function own()
        {
            $this->inherited();
        }
    };
    $anonymous->own();
    Thing::factory();
}

function destructors()
{
    holds();
    array_map('holds_in', [1, 2]);
    $list = [2, 1];
    usort($list, function ($a, $b) {
        nearly_nothing();
        $held = new Destroyed();
        return $a <=> $b;
    });
    $one = new Destroyed();
    $one = null;
    unset($list);
}

function iterated()
{
    try {
        foreach (new Steps() as $step) {
            work();
        }
    } catch (LengthException $caught) {
        work();
    }
    try {
        iterator_to_array(new IteratorIterator(new Thing()));
    } catch (LengthException $caught) {
        work();
    } finally {
        work();
    }
}

function counted($count)
{
    for ($i = 0; $i < $count; $i++) {
        work();
        $sent = yield $i => $i + 1;
        work();
    }
    return $count;
}

function delegated($depth)
{
    if ($depth) {
        yield from delegated($depth - 1);
        return;
    }
    work();
    yield 1;
    yield from counted(2);
    yield from [1, 2];
}

function delegated_once()
{
    yield from counted(1);
    work();
}

function delegated_to_iterator()
{
    try {
        yield from new Steps();
    } catch (LengthException $caught) {
        work();
        yield 7;
    }
}

function generated()
{
    foreach (counted(2) as $key => $value) {
        work();
    }
    $generator = counted(3);
    $generator->current();
    $generator->send(5);
    $generator = null;
    foreach (delegated(4) as $value) {
        work();
    }
    foreach (delegated_to_iterator() as $value) {
        work();
    }
    iterator_to_array(delegated(2), false);
    array_sum(iterator_to_array(delegated_once(), false));
}

function evaluated()
{
    eval("work();\n\nfirst();");
    static $serial = 0;
    $serial++;
    return eval("return (function () { work(); })();");
}

function thrown()
{
    try {
        throws(2);
    } catch (RuntimeException $caught) {
        work();
    } finally {
        work();
    }
    try {
        array_map(function ($x) {
            throws($x);
        }, [0]);
    } catch (RuntimeException $caught) {
        work();
    }
}

function throws($depth)
{
    work();
    $held = new Destroyed();
    if ($depth) {
        throws($depth - 1);
    }
    throw new RuntimeException('thrown');
}

function loads()
{
    static $is_loaded = false;
    if (!$is_loaded) {
        $is_loaded = true;
        spl_autoload_register(function ($class) {
            require_once __DIR__ . '/' . $class . '.php';
        });
    }
    Loaded::isHere();
}

// Functions that do next to nothing: most samples fall on their beginning and end.
function short()
{
    for ($i = 0; $i < 60; $i++) {
        nearly_nothing($i);
        array_map('nearly_nothing', [1, 2]);
        call_user_func('nearly_nothing');
    }
    $list = range(20, 1);
    usort($list, 'nearly_nothing');
    array_filter($list, function ($x) {
        return nearly_nothing($x);
    });
}

function strings()
{
    $text = '';
    for ($i = 0; $i < 200; $i++) {
        $text .= 'x' . $i;
        $list[$text] = substr($text, 1);
    }
    work();
}

function all()
{
    first();
    over_array_map();
    over_usort();
    over_regex();
    recurse(50);
    recurse_over_c(12);
    objects();
    destructors();
    iterated();
    generated();
    evaluated();
    thrown();
    loads();
    short();
    strings();
}

if (REFERENCE) {
    all();
    all();
    exit;
}
echo "ready\n";
while (true) {
    all();
}
