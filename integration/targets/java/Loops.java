// SPDX-License-Identifier: Apache-2.0
// Loops that run for long, so that their code is replaced while they run: one within another, and
// some behind each other in one method, which each have code of their own.
//
// chain: main@main > nested@nested > step@step
// chain: main@main > behind@behind > step@step
// chain: main@main > calls@calls > step@step
// chain: main@main > calls@calls > SPIN

public class Loops {
	static int step(int total, int i) {
		return total * 31 + (i ^ total >>> 3); //: step
	}

	static int nested(int n) {
		int total = 0; //: nested
		for (int i = 0; i < n; i++) //: nested
			for (int j = 0; j < n; j++) //: nested
				for (int k = 0; k < 10; k++) //: nested
					total = step(total, k); //: nested
		return total; //: nested
	}

	static int behind(int n) {
		int total = 0; //: behind
		for (int i = 0; i < n; i++) //: behind
			total = step(total, i); //: behind
		for (long i = 0; i < n; i++) //: behind
			total ^= total << 5 + i % 3; //: behind
		int left = n; //: behind
		while (left-- > 0) //: behind
			total = step(total, left); //: behind
		do { //: behind
			total = step(total, left); //: behind
		} while (++left < n); //: behind
		return total; //: behind
	}

	static int calls(int n) {
		int total = 0; //: calls
		for (int i = 0; i < n; i++) { //: calls
			total += Target.spin(10); //: calls
			total = step(total, i); //: calls
		}
		return total; //: calls
	}

	public static void main(String[] arguments) {
		Target.sink += nested(1) + behind(1) + calls(1);
		Target.ready(Loops.class);
		while (true) { //: main
			Target.sink += nested(3000); //: main
			Target.sink += behind(30000000); //: main
			Target.sink += calls(2000000); //: main
		}
	}
}
