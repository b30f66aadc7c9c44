// SPDX-License-Identifier: Apache-2.0
// Classes that are loaded, compiled and unloaded in a loop: two of the same shape by turns, so that what
// was freed is used again for the other's methods, and an old name would be wrong.
//
// With -Xcomp the JVM compiles all that is loaded: 85 % of the samples are of that in 8.
// own: 20 10
// unnamed: 10
// chain: main@main > LIBRARY
// chain: main@main turn@turn LIBRARY
// chain: main@main turn@turn > run@run > $First.applyAsInt@first_apply > $First.run@first > $First.first_step@first_step > SPIN
// chain: main@main turn@turn > run@run > $Second.applyAsInt@second_apply > $Second.run@second > $Second.second_step@second_step > SPIN
// chain: main@main turn@turn > $Loader.<init>@loader LIBRARY
// chain: main@main turn@turn ($First.<init>@class|$Second.<init>@class)
// chain: main@main turn@turn LIBRARY ($First.<init>@class|$Second.<init>@class)
// chain: main@main turn@turn LIBRARY ($Loader.loadClass@load LIBRARY)*
// chain: main@main turn@turn run@run $First.applyAsInt@first_apply $First.run@first ($First.first_step@first_step)? LIBRARY ($Loader.loadClass@load LIBRARY)*
// chain: main@main turn@turn run@run $Second.applyAsInt@second_apply $Second.run@second ($Second.second_step@second_step)? LIBRARY ($Loader.loadClass@load LIBRARY)*

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.util.function.IntUnaryOperator;

public class Loading {
	public static class First implements IntUnaryOperator { //: class
		static int first_step(int n) {
			return Target.spin(n & 15) + 1; //: first_step
		}

		@Override public int applyAsInt(int n) {
			return run(n); //: first_apply
		}

		public static int run(int n) {
			int sum = 0; //: first
			for (int i = 0; i < n; i++) //: first
				sum += first_step(i); //: first
			return sum; //: first
		}
	}

	public static class Second implements IntUnaryOperator { //: class
		static int second_step(int n) {
			return Target.spin(n & 15) + 2; //: second_step
		}

		@Override public int applyAsInt(int n) {
			return run(n); //: second_apply
		}

		public static int run(int n) {
			int sum = 0; //: second
			for (int i = 0; i < n; i++) //: second
				sum += second_step(i); //: second
			return sum; //: second
		}
	}

	static class Loader extends ClassLoader {
		private final byte[] bytes;
		private final String name;

		Loader(String name, byte[] bytes) { //: loader
			super(Loading.class.getClassLoader()); //: loader
			this.name = name; //: loader
			this.bytes = bytes; //: loader
		} //: loader

		@Override protected Class<?> loadClass(String wanted, boolean resolve) throws ClassNotFoundException {
			if (!wanted.equals(name)) //: load
				return super.loadClass(wanted, resolve); //: load
			Class<?> known = findLoadedClass(name); //: load
			return known != null ? known : defineClass(name, bytes, 0, bytes.length); //: load
		}
	}

	static byte[] bytesOf(Class<?> one) throws Exception {
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		try (InputStream in = one.getResourceAsStream(one.getName() + ".class")) {
			byte[] part = new byte[10000];
			for (int n; (n = in.read(part)) > 0;)
				out.write(part, 0, n);
		}
		return out.toByteArray();
	}

	static int run(Object loaded, int n) {
		int sum = 0; //: run
		for (int i = 0; i < n; i++) //: run
			sum += ((IntUnaryOperator)loaded).applyAsInt(2000); //: run
		return sum; //: run
	}

	static int turn(String name, byte[] bytes, int n) throws Exception {
		Class<?> loaded = new Loader(name, bytes).loadClass(name); //: turn
		return run(loaded.getDeclaredConstructor().newInstance(), n); //: turn
	}

	public static void main(String[] arguments) throws Exception {
		Class<?>[] classes = { First.class, Second.class };
		byte[][] bytes = { bytesOf(classes[0]), bytesOf(classes[1]) };
		for (int i = 0; i < 2; i++)
			Target.sink += turn(classes[i].getName(), bytes[i], 1);
		Target.ready(Loading.class);
		for (int n = 0;; n++) { //: main
			Target.sink += turn(classes[n & 1].getName(), bytes[n & 1], 20); //: main
			if (n % 50 == 0) //: main
				System.gc(); //: main
		}
	}
}
