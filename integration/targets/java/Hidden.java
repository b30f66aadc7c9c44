// SPDX-License-Identifier: Apache-2.0
// Hidden classes, made of the bytes of a class again and again and unloaded; and a method handle of many
// parts.
//
// release: 17
// chain: main@main > turn@turn > LIBRARY
// chain: main@main turn@turn > LIBRARY $Body.applyAsInt@body > SPIN
// chain: main@main turn@turn LIBRARY $Body.<init>@class LIBRARY
// chain: main@main turn@turn > combined@combined LIBRARY (left@left|right@right|test@test)?
// chain: main@main turn@turn > combined@combined LIBRARY (left@left|right@right) SPIN

import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.IntUnaryOperator;

public class Hidden {
	static class Body implements IntUnaryOperator { //: class
		@Override public int applyAsInt(int n) {
			return Target.spin(n); //: body
		}
	}

	static int left(int n) {
		return Target.spin(n); //: left
	}

	static int right(int n) {
		return Target.spin(n + 1); //: right
	}

	static boolean test(int n) {
		return n % 2 == 0; //: test
	}

	static final MethodHandle COMBINED = combine();

	static MethodHandle combine() {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			MethodType type = MethodType.methodType(int.class, int.class);
			return MethodHandles.guardWithTest(
				lookup.findStatic(Hidden.class, "test", type.changeReturnType(boolean.class)),
				lookup.findStatic(Hidden.class, "left", type),
				lookup.findStatic(Hidden.class, "right", type));
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	static int combined(int n) throws Throwable {
		int sum = 0; //: combined
		for (int i = 0; i < n; i++) //: combined
			sum += (int)COMBINED.invokeExact(i); //: combined
		return sum; //: combined
	}

	static int turn(byte[] bytes) throws Throwable {
		IntUnaryOperator made = (IntUnaryOperator)MethodHandles.lookup() //: turn
			.defineHiddenClass(bytes, true).lookupClass() //: turn
			.getDeclaredConstructor().newInstance(); //: turn
		int sum = 0; //: turn
		for (int i = 0; i < 2000; i++) //: turn
			sum += made.applyAsInt(100); //: turn
		return sum + combined(500); //: turn
	}

	public static void main(String[] arguments) throws Throwable {
		byte[] bytes;
		try (InputStream in = Hidden.class.getResourceAsStream("Hidden$Body.class")) {
			bytes = in.readAllBytes();
		}
		Target.sink += turn(bytes);
		Target.ready(Hidden.class);
		while (true) //: main
			Target.sink += turn(bytes); //: main
	}
}
