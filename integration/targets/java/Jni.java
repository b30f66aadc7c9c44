// SPDX-License-Identifier: Apache-2.0
// C that Java calls, and Java that C calls, several levels of both, and exceptions through C.
// The C is in Jni.c.
//
// chain: main@main > turn@turn
// chain: main@main turn@turn > leaf@-
// chain: main@main turn@turn > down@- > [Jni_down] up@up > SPIN
// chain: main@main turn@turn (down@- [Jni_down] up@up)* down@-?
// chain: main@main turn@turn (down@- [Jni_down] up@up)+ SPIN?
// chain: main@main turn@turn > throwing@- > [Jni_throwing] fails@fails LIBRARY
// chain: main@main turn@turn > strings@- > LIBRARY

public class Jni {
	static native int leaf(int n);
	static native int down(int depth);
	static native int throwing();
	static native int strings(String text);

	static int up(int depth) {
		return depth == 0 ? Target.spin(2000) : down(depth - 1) + Target.spin(100); //: up
	}

	static int fails() {
		throw new IllegalStateException("in C"); //: fails
	}

	static int turn() {
		int sum = leaf(3000); //: turn
		sum += down(4); //: turn
		try {
			sum += throwing(); //: turn
		} catch (IllegalStateException e) { //: turn
			sum++; //: turn
		} //: turn
		sum += strings("text"); //: turn
		return sum; //: turn
	}

	public static void main(String[] arguments) {
		System.load(System.getProperty("allframes.library"));
		Target.sink += turn();
		Target.ready(Jni.class);
		while (true) //: main
			Target.sink += turn(); //: main
	}
}
