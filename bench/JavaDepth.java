// SPDX-License-Identifier: Apache-2.0

// JavaDepth N: N calls deep in eight methods, as depth.c; then busy for ever.
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

	static long call0(int depth, long sum) {
		return depth > 1 ? call1(depth - 1, sum + 1) ^ sum : leaf(sum) ^ depth;
	}

	static long call1(int depth, long sum) {
		return depth > 1 ? call2(depth - 1, sum + 2) ^ sum : leaf(sum) ^ depth;
	}

	static long call2(int depth, long sum) {
		return depth > 1 ? call3(depth - 1, sum + 3) ^ sum : leaf(sum) ^ depth;
	}

	static long call3(int depth, long sum) {
		return depth > 1 ? call4(depth - 1, sum + 4) ^ sum : leaf(sum) ^ depth;
	}

	static long call4(int depth, long sum) {
		return depth > 1 ? call5(depth - 1, sum + 5) ^ sum : leaf(sum) ^ depth;
	}

	static long call5(int depth, long sum) {
		return depth > 1 ? call6(depth - 1, sum + 6) ^ sum : leaf(sum) ^ depth;
	}

	static long call6(int depth, long sum) {
		return depth > 1 ? call7(depth - 1, sum + 7) ^ sum : leaf(sum) ^ depth;
	}

	static long call7(int depth, long sum) {
		return depth > 1 ? call0(depth - 1, sum + 8) ^ sum : leaf(sum) ^ depth;
	}

	public static void main(String[] arguments) throws InterruptedException {
		int depth = Integer.parseInt(arguments[0]);

		// Until the compilers have nothing left to do.
		for (int round = 0; round < 10; round++) {
			for (int i = 0; i < 20000; i++)
				sink += call0(depth, i);
			Thread.sleep(200);
		}
		isWarm = true;
		call0(depth, 0);
	}
}
