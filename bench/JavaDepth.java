// SPDX-License-Identifier: Apache-2.0
// JavaDepth N: N calls deep in Java, by eight methods in turn; then busy for ever.

public class JavaDepth {
	static volatile int sink;

	static int call0(int n) {
		return n > 1 ? call1(n - 1) + sink : leaf(n);
	}

	static int call1(int n) {
		return n > 1 ? call2(n - 1) + sink : leaf(n);
	}

	static int call2(int n) {
		return n > 1 ? call3(n - 1) + sink : leaf(n);
	}

	static int call3(int n) {
		return n > 1 ? call4(n - 1) + sink : leaf(n);
	}

	static int call4(int n) {
		return n > 1 ? call5(n - 1) + sink : leaf(n);
	}

	static int call5(int n) {
		return n > 1 ? call6(n - 1) + sink : leaf(n);
	}

	static int call6(int n) {
		return n > 1 ? call7(n - 1) + sink : leaf(n);
	}

	static int call7(int n) {
		return n > 1 ? call0(n - 1) + sink : leaf(n);
	}

	static int leaf(int n) {
		System.out.println("ready");
		System.out.flush();
		while (true)
			sink += n;
	}

	public static void main(String[] arguments) {
		sink = call0(Integer.parseInt(arguments[0]));
	}
}
