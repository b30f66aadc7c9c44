# SPDX-License-Identifier: Apache-2.0
# ruby_depth.rb N [COUNT]: N calls deep in Ruby, which all run in one loop of the VM, in turns of COUNT methods (as many as
# calls, if there is none); then busy for ever.

def leaf
  $stdout.puts 'ready'
  $stdout.flush
  nil while true
end

depth = ARGV[0].to_i
count = (ARGV[1] || depth).to_i
count.times do |i|
  eval "def call_#{i}(depth)\n  depth > 1 ? call_#{(i + 1) % count}(depth - 1) : leaf\nend"
end
call_0(depth)
