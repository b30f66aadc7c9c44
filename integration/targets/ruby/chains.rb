# SPDX-License-Identifier: Apache-2.0
# Chains of methods and blocks, each of which ends in work(). As `reference` it prints what caller_locations says there, a
# line for each frame, innermost first, and an empty line behind each chain. Else it says `ready` and works on.

REFERENCE = ARGV[0] == "reference"
ROUNDS = 1500
PRINTING = Mutex.new

# Methods in C: caller_locations gives them the location of their caller.
IN_C = %w[each map each_pair inject sort_by each_with_index catch tap send public_send call eval instance_eval
          class_eval loop times upto new initialize each_slice min_by backtrace collect synchronize].freeze

def record(locations)
  lines = locations.each_with_index.map do |location, i|
    caller = locations[i + 1]
    bare = location.label.sub(/\A[\w:]+[#.]/, "")
    in_c = IN_C.include?(bare) && caller && location.path == caller.path && location.lineno == caller.lineno
    [location.label, in_c ? "<cfunc>" : location.path, in_c ? 0 : location.lineno].join("\t") + "\n"
  end
  # Another thread may go on in the midst of a write.
  PRINTING.synchronize { $stdout.write(lines.join + "\n") }
end

def work
  return record(caller_locations(0)) if REFERENCE
  i = 0
  while i < ROUNDS
    i += 1
  end
end

def first
  second
end

def second
  third { work }
end

def third
  yield
end

def over_c
  [1, 2].each { |x| [x].map { |y| [y].inject(0) { |_, _| work } } }
end

def recurse(depth)
  depth == 0 ? work : recurse(depth - 1)
end

def recurse_over_c(depth)
  return work if depth == 0
  [depth].each { |one| recurse_over_c(one - 1) }
end

class Thing
  def self.of_class(count = 2, *)
    count.times { work }
  end

  def initialize
    work
  end

  define_method(:defined) { work }

  def method_missing(name, *arguments)
    name == :absent ? work : super
  end

  def respond_to_missing?(*)
    true
  end

  def optional(a = 1, b = a + 1, c: 3)
    work
  end

  def each
    3.times { yield work }
  end
  include Enumerable

  class << self
    def of_singleton
      [1].each { work }
    end
  end
end

SINGLE = Object.new
def SINGLE.alone
  work
end

def SINGLE.nearly_nothing(a = 1, b = 2)
  REFERENCE ? work : a
end

# Classes within others, one sequence for two classes, classes without a name, methods by other names.
module Outer
  class Inner
    def within
      [1].each { work }
    end
    alias aliased within

    class << self
      define_method(:made) { work }
    end
  end

  def mixed
    begin
      raise ArgumentError, "x"
    rescue ArgumentError
      [1].each { work }
    end
  end

  def self.of_module
    1.times { yield }
  end
end

class One
  include Outer
end

class Two
end

[One, Two].each do |one|
  one.class_eval do
    def twice
      work
    end
    define_method(:late) { [1].each { work } }
  end
end

NAMELESS = [Class.new do
  def alone
    "x" =~ /(x)/
    [$1].each { work }
  end

  def self.own
    work
  end
end].freeze

def define_more
  One.define_method(:latest) { work } unless One.method_defined?(:latest)
  One.new.latest
end

def in_classes
  Outer::Inner.new.within
  Outer::Inner.new.aliased
  Outer::Inner.made
  Outer.of_module { work }
  One.new.mixed
  One.new.twice
  Two.new.twice
  One.new.late
  Two.new.late
  NAMELESS[0].new.alone
  NAMELESS[0].own
  define_more
end

def evaluated
  eval("[1].each { work }", binding, "evaluated.rb", 100)
  SINGLE.instance_eval("alone", "instance.rb", 200)
end

def rescued
  begin
    [1].each { work; raise ArgumentError, "x" }
  rescue ArgumentError
    work
  end
ensure
  work
end

def thrown
  catch(:done) { [1].each { work; throw :done } }
  [1, 2].each { |x| work; break if x == 2 }
end

# Blocks that do next to nothing: most samples fall on their beginning and end.
def short
  200.times { [1, 2, 3].each { |x| REFERENCE ? work : x } }
  list = [3, 1, 2]
  50.times { list.sort_by { |x| REFERENCE ? work : x } }
  60.times { SINGLE.send(:nearly_nothing, 1) }
  work
end

def optional_over_c
  thing = Thing.new
  [:optional].each { |name| thing.send(name) }
  [[1, 2]].each { |pair| thing.public_send(:optional, *pair) }
  [1].map(&thing.method(:optional))
end

def enumerated
  Thing.new.map { |_| work }
  Thing.new.each_with_index { |_, _| work }
  { a: 1 }.each_pair { |_, _| work }
end

def all
  first
  over_c
  recurse(50)
  recurse_over_c(12)
  Thing.of_class
  Thing.of_singleton
  Thing.new.defined
  Thing.new.absent
  evaluated
  rescued
  thrown
  optional_over_c
  enumerated
  in_classes
  -> { work }.call
  proc { work }.tap { |made| made.call }
  short
end

def in_threads
  2.times.map { Thread.new { REFERENCE ? all : loop { all } } }.each(&:join)
end

if REFERENCE
  all
  Thread.new { all }.join
  in_threads
  exit
end
puts "ready"
$stdout.flush
ARGV[0] == "threads" ? in_threads : loop { all }
