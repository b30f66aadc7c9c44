// SPDX-License-Identifier: Apache-2.0
// Exceptions: thrown deep and caught above, with clean-up in between, by the JVM itself, without a stack
// trace, and with one that is read.
//
// chain: main@main > turn@turn
// chain: main@main turn@turn caught@caught LIBRARY
// chain: main@main turn@turn > caught@caught > (fail@fail{1,6} LIBRARY|$Own.<init>@own LIBRARY)
// chain: main@main turn@turn > caught@caught > fail@fail{1,6} > $Own.<init>@own LIBRARY
// chain: main@main turn@turn > cleaned@cleaned > inner@inner > (SPIN|fail@fail{1,6} ($Own.<init>@own)? LIBRARY)
// chain: main@main turn@turn > implicit@implicit > (SPIN|divide@divide|element@element|cast@cast|null_@null) LIBRARY
// chain: main@main turn@turn > light@light > light_fail@light_fail+ > $Light.<init>@light_init LIBRARY
// chain: main@main turn@turn > traced@traced > LIBRARY
// chain: main@main turn@turn > traced@traced fail@fail{1,6} ($Own.<init>@own)? LIBRARY
// chain: main@main turn@turn > resources@resources > ($Resource.<init>@open|$Resource.close@close|fail@fail{1,6} ($Own.<init>@own)?) (SPIN|LIBRARY)

public class Exceptions {
	static class Own extends RuntimeException {
		Own(String text) { //: own
			super(text); //: own
		} //: own
	}

	static class Light extends RuntimeException {
		Light() { //: light_init
			super("light", null, false, false); //: light_init
		} //: light_init
	}

	static class Resource implements AutoCloseable {
		Resource() { //: open
			Target.spin(200); //: open
		} //: open

		@Override public void close() {
			Target.spin(300); //: close
		} //: close
	}

	static int fail(int depth) {
		if (depth == 0) //: fail
			throw new Own("deep"); //: fail
		return fail(depth - 1) + 1; //: fail
	}

	static int caught() {
		try {
			return fail(5); //: caught
		} catch (Own e) { //: caught
			return e.getMessage().length(); //: caught
		}
	}

	static int inner() {
		try {
			return fail(5); //: inner
		} finally {
			Target.spin(300); //: inner
		} //: inner
	}

	static int cleaned() {
		try {
			return inner(); //: cleaned
		} catch (RuntimeException e) { //: cleaned
			return 1; //: cleaned
		}
	}

	static int divide(int n) {
		return 7 / n; //: divide
	}

	static int element(int[] numbers, int n) {
		return numbers[n]; //: element
	}

	static String cast(Object o) {
		return (String)o; //: cast
	}

	static int null_(int[] numbers) {
		return numbers[0]; //: null
	}

	static int implicit(int[] numbers) {
		int sum = Target.spin(300); //: implicit
		try {
			sum += divide(0); //: implicit
		} catch (ArithmeticException e) { //: implicit
			sum++; //: implicit
		} //: implicit
		try {
			sum += element(numbers, 20); //: implicit
		} catch (ArrayIndexOutOfBoundsException e) { //: implicit
			sum++; //: implicit
		} //: implicit
		try {
			sum += cast(numbers).length(); //: implicit
		} catch (ClassCastException e) { //: implicit
			sum++; //: implicit
		} //: implicit
		try {
			sum += null_(null); //: implicit
		} catch (NullPointerException e) { //: implicit
			sum++; //: implicit
		} //: implicit
		return sum; //: implicit
	}

	static int light_fail(int depth) {
		if (depth == 0) //: light_fail
			throw new Light(); //: light_fail
		return light_fail(depth - 1) + 1; //: light_fail
	}

	static int light() {
		int sum = 0; //: light
		for (int i = 0; i < 50; i++) //: light
			try {
				sum += light_fail(i % 8); //: light
			} catch (Light e) { //: light
				sum++; //: light
			} //: light
		return sum; //: light
	}

	static int traced() {
		try {
			return fail(3); //: traced
		} catch (Own e) { //: traced
			return e.getStackTrace().length; //: traced
		}
	}

	static int resources() {
		try (Resource first = new Resource(); Resource second = new Resource()) { //: resources
			return fail(2) + first.hashCode() + second.hashCode(); //: resources
		} catch (Own e) { //: resources
			return 1; //: resources
		}
	}

	static void turn(int[] numbers) {
		Target.sink += caught(); //: turn
		Target.sink += cleaned(); //: turn
		Target.sink += implicit(numbers); //: turn
		Target.sink += light(); //: turn
		Target.sink += traced(); //: turn
		Target.sink += resources(); //: turn
	} //: turn

	public static void main(String[] arguments) {
		int[] numbers = new int[10];
		turn(numbers);
		Target.ready(Exceptions.class);
		while (true) //: main
			turn(numbers); //: main
	}
}
