// SPDX-License-Identifier: Apache-2.0
// What the targets in Java share. With -Dallframes.observe=SECONDS the program looks at itself for so
// long, prints the stacks of its threads that it has seen, and ends. With -Dallframes.tell=FILE it writes
// the stacks of its first calls of spin() there, before it says that it is ready. With
// -Dallframes.maps=FILE it copies its maps there: core files that qemu-user writes do not have them.

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;

public final class Target {
	static final String SECONDS = System.getProperty("allframes.observe");
	static final String TOLD = System.getProperty("allframes.tell");
	private static final int STACKS_MAX = 3000;
	private static final int TOLD_CALLS = 5000;
	private static final List<Thread> threads = new CopyOnWriteArrayList<>();
	private static final Set<String> told = new HashSet<>();
	private static boolean isTelling;
	private static int callsLeft = TOLD_CALLS;
	/**
	 * Held while a trace is taken, and to be held to redefine classes: JDK 25 crashes when methods of a trace
	 * are thrown away before they are written down.
	 */
	static final Object tracing = new Object();
	public static volatile int sink;

	/** Something to do, by which it can be told who called it. */
	public static int spin(int count) {
		if (isTelling) //: spin
			tell(Thread.currentThread().getStackTrace()); //: spin
		int total = count; //: spin
		for (int i = 0; i < count; i++) //: spin
			total = total * 31 + (i ^ total >>> 3); //: spin
		sink = total; //: spin
		return total; //: spin
	}

	private static synchronized void tell(StackTraceElement[] stack) {
		told.add(textOf(stack));
		if (--callsLeft > 0 || !isTelling)
			return;
		isTelling = false;
		try {
			Files.write(Paths.get(TOLD), told);
		} catch (IOException e) {
			throw new IllegalStateException(e);
		}
		sayReady();
	}

	private static void sayReady() {
		System.out.println("ready");
		System.out.flush();
	}

	/** The stacks of the calling thread are looked at from now on. */
	static void join() {
		Thread self = Thread.currentThread();
		if (SECONDS != null && !threads.contains(self))
			threads.add(self);
	}

	static void leave() {
		threads.remove(Thread.currentThread());
	}

	/** By its name the test finds the program's samples; with -Dallframes.unnamed=yes it stays as it is. */
	private static void name(String name) {
		if (System.getProperty("allframes.unnamed") != null)
			return;
		try (OutputStream comm = new FileOutputStream("/proc/self/comm")) {
			comm.write(name.substring(0, Math.min(name.length(), 15)).getBytes("UTF-8"));
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}

	private static void copyMaps(String path) {
		try {
			Files.write(Paths.get(path), Files.readAllLines(Paths.get("/proc/self/maps")));
		} catch (IOException e) {
			throw new IllegalStateException(e);
		}
	}

	/** To be called once all has run that loads classes. */
	static void ready(Class<?> program) {
		ready(program.getSimpleName());
	}

	public static void ready(String program) {
		String maps = System.getProperty("allframes.maps");
		if (maps != null)
			copyMaps(maps);
		name("j-" + program);
		join();
		if (SECONDS != null) {
			Thread observer = new Thread(Target::observe);
			observer.setDaemon(true);
			observer.start();
		}
		isTelling = TOLD != null;
		if (!isTelling)
			sayReady();
	}

	private static void observe() {
		Set<String> stacks = new HashSet<>();
		long end = System.nanoTime() + (long)(Double.parseDouble(SECONDS) * 1e9);
		try {
			while (System.nanoTime() < end && stacks.size() < STACKS_MAX) {
				for (Thread thread : threads) {
					synchronized (tracing) {
						stacks.add(textOf(thread.getStackTrace()));
					}
				}
				Thread.sleep(0, 200000);
			}
			try (PrintStream out = new PrintStream(System.out, true, "UTF-8")) {
				for (String stack : stacks)
					out.println("stack" + stack);
			}
		} catch (Throwable e) {
			e.printStackTrace();
		}
		// AOT caches are made at the end of a program.
		System.exit(0);
	}

	private static String textOf(StackTraceElement[] stack) {
		StringBuilder text = new StringBuilder();
		for (int i = stack.length - 1; i >= 0; i--)
			text.append('\t').append(stack[i].getClassName()).append('.')
				.append(stack[i].getMethodName()).append('|').append(stack[i].getFileName())
				.append('|').append(Math.max(stack[i].getLineNumber(), 0));
		return text.toString();
	}
}
