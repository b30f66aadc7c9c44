// SPDX-License-Identifier: Apache-2.0
// What the loads in Java share: eight threads, each of which does the same again and again.

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

public final class Load {
	interface Work {
		void turn(int number) throws Exception;
	}

	private static final int THREADS = 8;
	private static final AtomicLong turns = new AtomicLong();

	/** Runs for ever; it is ready when each thread has done it once. With -Dallframes.tell=yes it says
	 * again and again how often all have done it, and when that was, in nanoseconds. With
	 * -Dallframes.unnamed=yes the process keeps its name.
	 */
	static void run(String name, Work work) throws Exception {
		CountDownLatch started = new CountDownLatch(THREADS);
		for (int i = 0; i < THREADS; i++) {
			int number = i;
			new Thread(() -> repeat(number, work, started), "worker-" + i).start();
		}
		started.await();
		if (System.getProperty("allframes.unnamed") == null)
			rename(name);
		System.out.println("ready");
		System.out.flush();
		while (System.getProperty("allframes.tell") != null) {
			Thread.sleep(10);
			System.out.println(turns.get() + " " + System.nanoTime());
		}
	}

	/** By its name the test finds the program's samples. */
	private static void rename(String name) throws IOException {
		try (OutputStream comm = new FileOutputStream("/proc/self/comm")) {
			comm.write(name.getBytes("UTF-8"));
		}
	}

	private static void repeat(int number, Work work, CountDownLatch started) {
		try {
			work.turn(number);
			started.countDown();
			while (true) {
				work.turn(number);
				turns.incrementAndGet();
			}
		} catch (Throwable e) {
			e.printStackTrace();
			System.exit(1);
		}
	}
}
