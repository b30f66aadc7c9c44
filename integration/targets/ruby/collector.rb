# SPDX-License-Identifier: Apache-2.0
# Gives the garbage collector much to do, says `ready` once it does, and at each SIGUSR1 a line of seconds: of CPU time, of that in the
# collector, marking, sweeping (0 where the version does not tell). As `compact` it compacts as well; as `beside` another thread
# compresses, without the lock.

MODE = ARGV[0]
$asked = false
Signal.trap("USR1") { $asked = true }

def report
  times = GC.stat.values_at(:time, :marking_time, :sweeping_time).map { |milliseconds| milliseconds.to_i / 1000.0 }
  puts [Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID), *times].join(" ")
  $stdout.flush
end

# What is marked each time.
KEPT = Array.new(50_000) { |i| ["kept #{i}"] }

def allocate
  Array.new(2_000) { |i| [i.to_s, [i]] }
end

def compress
  require "zlib"
  text = Array.new(200_000) { |i| (i * 7919).to_s }.join
  Thread.new { loop { Zlib::Deflate.deflate(text, 6) } }
end

compress if MODE == "beside"
rounds = 0
loop do
  allocate
  rounds += 1
  if rounds == 20
    puts "ready"
    $stdout.flush
  end
  GC.compact if MODE == "compact" && rounds % 20 == 0
  if $asked
    $asked = false
    report
  end
end
