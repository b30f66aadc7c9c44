# SPDX-License-Identifier: Apache-2.0
# Fibers and enumerators, which work on stacks of their own; says `ready` and works on.

ROUNDS = 3000
NUMBERS = Array.new(20_000) { |i| i }

def work
  i = 0
  while i < ROUNDS
    i += 1
  end
end

def inner
  work
end

def resumed
  fiber = Fiber.new do
    inner
    Fiber.yield
    inner
  end
  fiber.resume
  work
  fiber.resume
end

def nested
  Fiber.new { Fiber.new { [1].each { inner } }.resume }.resume
end

def deep(depth)
  return Fiber.new { inner }.resume if depth == 0
  Fiber.new { deep(depth - 1) }.resume
end

def enumerated
  made = Enumerator.new do |yielder|
    inner
    yielder << 1
    inner
    yielder << 2
  end
  made.next
  made.next
end

# Methods in C alone run in the enumerator's fiber.
def sliced
  made = NUMBERS.each_slice(10_000)
  made.next
  made.next
end

def all
  resumed
  nested
  deep(3)
  enumerated
  sliced
end

puts "ready"
$stdout.flush
ARGV[0] == "threads" ? Thread.new { loop { all } }.join : loop { all }
