// SPDX-License-Identifier: Apache-2.0
// Strings put together by invokedynamic.
//
// release: 11
// chain: main@main > turn@turn > (two@two|many@many|mixed@mixed) > LIBRARY
// chain: main@main turn@turn mixed@mixed LIBRARY $Named.toString@named LIBRARY

public class Concat {
	static class Named {
		@Override public String toString() {
			return Integer.toString(Target.sink); //: named
		}
	}

	static int two(String text, int n) {
		return (text + n).length(); //: two
	}

	static int many(String text, int n, double d, char c) {
		return (text + n + ", " + d + c + text + (n * 3L) + "x").length(); //: many
	}

	static int mixed(Named named, int[] numbers) {
		return ("a" + named + "b" + numbers.length + null + named).length(); //: mixed
	}

	static int turn(String text, Named named, int[] numbers, int n) {
		int sum = two(text, n); //: turn
		sum += many(text, n, n / 3.0, 'c'); //: turn
		sum += mixed(named, numbers); //: turn
		return sum; //: turn
	}

	public static void main(String[] arguments) {
		String text = "text of " + arguments.length;
		Named named = new Named();
		int[] numbers = new int[3];
		Target.sink += turn(text, named, numbers, 3);
		Target.ready(Concat.class);
		for (int n = 0;; n++) //: main
			Target.sink += turn(text, named, numbers, n); //: main
	}
}
