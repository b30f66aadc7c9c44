# Ten lines, each with a loop: the first one takes one part of the time, the second one two parts, and so on.
def loops(n)
  s = 0
  i = 0; while i < n; s = ((s + i) ^ 7) & 65535; i += 1; end
  i = 0; while i < 2 * n; s = ((s + i) ^ 7) & 65535; i += 1; end
  i = 0; while i < 3 * n; s = ((s + i) ^ 7) & 65535; i += 1; end
  i = 0; while i < 4 * n; s = ((s + i) ^ 7) & 65535; i += 1; end
  i = 0; while i < 5 * n; s = ((s + i) ^ 7) & 65535; i += 1; end
  i = 0; while i < 6 * n; s = ((s + i) ^ 7) & 65535; i += 1; end
  i = 0; while i < 7 * n; s = ((s + i) ^ 7) & 65535; i += 1; end
  i = 0; while i < 8 * n; s = ((s + i) ^ 7) & 65535; i += 1; end
  i = 0; while i < 9 * n; s = ((s + i) ^ 7) & 65535; i += 1; end
  i = 0; while i < 10 * n; s = ((s + i) ^ 7) & 65535; i += 1; end
  s
end

finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 1
loop do
  loops(10_000)
  next if finish.nil? || Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish

  finish = nil
  puts 'ready'
  $stdout.flush
end
