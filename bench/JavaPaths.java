// SPDX-License-Identifier: Apache-2.0

/** Calls two methods by chance, 18 deep: nearly every stack is a new one, of frames that are known. */
public class JavaPaths {
	static long random = 1;
	static volatile long sink;

	static void step(int depth) {
		random = random * 6364136223846793005L + 1442695040888963407L;
		if (random < 0)
			one(depth - 1);
		else
			other(depth - 1);
		sink++;
	}

	static void one(int depth) {
		if (depth == 0)
			leaf();
		else
			step(depth);
	}

	static void other(int depth) {
		sink++;
		if (depth == 0)
			leaf();
		else
			step(depth);
		sink++;
	}

	static void leaf() {
		for (int i = 0; i < 3000; i++)
			sink++;
	}

	public static void main(String[] arguments) {
		System.out.println("ready");
		for (;;)
			one(18);
	}
}
