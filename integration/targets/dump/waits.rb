# SPDX-License-Identifier: Apache-2.0
# Two threads print their stacks as Ruby has them, and wait there.
def tell
  caller_locations(1).each { |at| print "frame\t#{at.label}\t#{at.lineno}\n" }
  puts "end"
  $stdout.flush
end

def innermost(is_last)
  # On one line, so that it is the line of both.
  tell; $told << 1; puts(is_last ? "ready" : ""); $stdout.flush; sleep
end

class Waiter
  def recurse(left, is_last)
    return recurse(left - 1, is_last) if left > 0
    [1].each { |_| innermost(is_last) }
  end
end

$told = Queue.new
Thread.new { Waiter.new.recurse(5, false) }
$told.pop
Waiter.new.recurse(3, true)
