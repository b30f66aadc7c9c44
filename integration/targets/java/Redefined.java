// SPDX-License-Identifier: Apache-2.0
// Two classes of one shape that are redefined by turns, with methods in other lines, while the versions that
// they had are thrown away: so that what was freed is used again for other versions, and an old name or an
// old line would be wrong. Of each version a method of its own calls it.
//
// With -Xcomp the JVM compiles all again that is redefined.
//
// own: 20 1
// agent: yes
// unnamed: 10
// chain: main@main > LIBRARY
// chain: main@main > turn@turn LIBRARY
// chain: main@main turn@turn redefine@redefine LIBRARY
// chain: main@main turn@turn > one_as_one@one_as_one > $One.run@one > $One.step@one_step > SPIN
// chain: main@main turn@turn > one_as_two@one_as_two > $One.run@two > $One.step@two_step > SPIN
// chain: main@main turn@turn > two_as_one@two_as_one > $Two.run@one > $Two.step@one_step > SPIN
// chain: main@main turn@turn > two_as_two@two_as_two > $Two.run@two > $Two.step@two_step > SPIN

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;

public class Redefined {
	static Instrumentation instrumentation;

	/** The JVM calls it, for this is its agent as well. */
	public static void premain(String options, Instrumentation given) {
		instrumentation = given;
	}

	static class One {
		static int step(int n) {
			return Target.spin(n & 15) + 1; //: one_step
		}

		static int run(int n) {
			int sum = 0; //: one
			for (int i = 0; i < n; i++) //: one
				sum += step(i); //: one
			return sum; //: one
		}
	}

	static class Two {
		static int step(int n) {
			return Target.spin(n & 15) + 2; //: two_step
		}

		static int run(int n) {
			int sum = 0; //: two
			for (int i = 0; i < n; i++) //: two
				sum += step(i); //: two
			return sum; //: two
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

	/** The class in @bytes by the other's name, which is as long. */
	static byte[] renamed(byte[] bytes, String from, String to) {
		String text = new String(bytes, StandardCharsets.ISO_8859_1);
		return text.replace(from, to).getBytes(StandardCharsets.ISO_8859_1);
	}

	static void redefine(Class<?> redefined, byte[] bytes) throws Exception {
		synchronized (Target.tracing) { //: redefine
			instrumentation.redefineClasses(new ClassDefinition(redefined, bytes)); //: redefine
		} //: redefine
	} //: redefine

	static int one_as_one(int n) {
		return One.run(n); //: one_as_one
	}

	static int one_as_two(int n) {
		return One.run(n); //: one_as_two
	}

	static int two_as_one(int n) {
		return Two.run(n); //: two_as_one
	}

	static int two_as_two(int n) {
		return Two.run(n); //: two_as_two
	}

	static int turn(byte[][][] bytes, int n, int count) throws Exception {
		int one = n & 1, two = n >> 1 & 1; //: turn
		redefine(One.class, bytes[0][one]); //: turn
		int sum = one == 0 ? one_as_one(count) : one_as_two(count); //: turn
		redefine(Two.class, bytes[1][two]); //: turn
		sum += two == 0 ? two_as_one(count) : two_as_two(count); //: turn
		return sum; //: turn
	}

	public static void main(String[] arguments) throws Exception {
		byte[] one = bytesOf(One.class), two = bytesOf(Two.class);
		byte[][][] bytes = {
			{ one, renamed(two, "Redefined$Two", "Redefined$One") },
			{ renamed(one, "Redefined$One", "Redefined$Two"), two },
		};
		for (int n = 0; n < 4; n++)
			Target.sink += turn(bytes, n, 1);
		Target.ready(Redefined.class);
		for (int n = 0;; n++) { //: main
			Target.sink += turn(bytes, n, 40000); //: main
			if (n % 4 == 0) { //: main
				synchronized (Target.tracing) { //: main
					System.gc(); //: main
				} //: main
			}
		}
	}
}
