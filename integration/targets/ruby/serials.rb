# SPDX-License-Identifier: Apache-2.0
# Calls methods with serial numbers, all of the same shape. The oldest is replaced by a new one all the time, which then takes the
# memory of one that was collected. Writes to standard error when each was made and removed: its number and two times of
# CLOCK_MONOTONIC in ns. As `compact` it compacts the heap, too.

ALIVE = 8
COMPACTS = ARGV[0] == "compact"

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

puts "ready"
$stdout.flush
alive = []
lines = []
1.step do |serial|
  if alive.size == ALIVE
    number, born, name = alive.shift
    Object.send(:remove_method, name)
    lines << "#{number} #{born} #{now}"
    if number % ALIVE == 0
      $stderr.puts lines
      lines.clear
      COMPACTS ? GC.compact : GC.start
    end
  end
  born = now
  name = eval("def serial_#{serial}(n)
    x = n
    i = 0
    while i < 20000
      x = (x * 31 + i) & 0xffff
      i += 1
    end
    x
  end")
  alive << [serial, born, name]
  alive.each { |_, _, one| send(one, serial) }
end
