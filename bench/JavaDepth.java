// SPDX-License-Identifier: Apache-2.0

// JavaDepth N: N calls deep in the methods of Calls (java_side.py); then busy for ever.
public class JavaDepth {
	static volatile long sink;
	static volatile boolean isWarm;

	static long leaf(long sum) {
		if (!isWarm)
			return sum;
		System.out.println("ready");
		for (;;)
			sink++;
	}

	public static void main(String[] arguments) throws InterruptedException {
		int depth = Integer.parseInt(arguments[0]);

		// Until the compilers have nothing left to do.
		for (int round = 0; round < 10; round++) {
			for (int i = 0; i < 20000; i++)
				sink += Calls.call0(depth, i);
			Thread.sleep(200);
		}
		isWarm = true;
		Calls.call0(depth, 0);
	}
}
