// SPDX-License-Identifier: Apache-2.0
// Methods that call themselves, a thousand deep, and each other.
//
// chain: main@turn > deep@deep+ bottom@bottom SPIN
// chain: main@turn deep@deep+ bottom@bottom?
// chain: main@turn > fibonacci@fibonacci{1,16}
// chain: main@turn (even@even odd@odd)* even@even? SPIN?
// depth: 1000

public class Recursion {
	static int deep(int depth) {
		if (depth == 0) //: deep
			return bottom(); //: deep
		return deep(depth - 1) + 1; //: deep
	}

	static int bottom() {
		return Target.spin(30000); //: bottom
	}

	static int fibonacci(int n) {
		return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); //: fibonacci
	}

	static int even(int n) {
		return n == 0 ? Target.spin(1000) : odd(n - 1) + 1; //: even
	}

	static int odd(int n) {
		return n == 0 ? Target.spin(1000) : even(n - 1) + 1; //: odd
	}

	public static void main(String[] arguments) {
		Target.sink += deep(3) + even(5) + fibonacci(3);
		Target.ready(Recursion.class);
		for (int n = 0;; n++) { //: turn
			Target.sink += deep(1000); //: turn
			Target.sink += fibonacci(15); //: turn
			Target.sink += even(n % 100); //: turn
		}
	}
}
