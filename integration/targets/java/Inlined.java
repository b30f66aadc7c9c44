// SPDX-License-Identifier: Apache-2.0
// Methods that are inlined into each other, five deep, with some of the work at each depth; and one of several
// bodies, of which the one that is called is inlined behind a check.
//
// inlined: 5
// chain: main@turn > into@into > one@one > two@two > three@three > four@four > five@five
// chain: main@turn > (guarded@guarded) > ($Adder.apply@adder|$Mixer.apply@mixer) > five@five
// chain: main@turn > getter@getter ($Adder.value@adder_value|$Mixer.value@mixer_value)

public class Inlined {
	abstract static class Operation {
		abstract int apply(int n);
		abstract int value();
	}

	static final class Adder extends Operation {
		int value = 3;
		@Override int apply(int n) { return five(n + value); } //: adder
		@Override int value() { return value; } //: adder_value
	}

	static final class Mixer extends Operation {
		int value = 5;
		@Override int apply(int n) { return five(n ^ value); } //: mixer
		@Override int value() { return value; } //: mixer_value
	}

	static int into(int n) {
		int sum = 0; //: into
		for (int i = 0; i < n; i++) //: into
			sum = sum * 31 + one(i); //: into
		return sum; //: into
	}

	static int one(int n) {
		return two(n / 3) * 31 + n; //: one
	}

	static int two(int n) {
		return three(n ^ 5) * 17 ^ n; //: two
	}

	static int three(int n) {
		return four(n >>> 2) * 7 + n; //: three
	}

	static int four(int n) {
		return five(n % 1000) ^ n; //: four
	}

	static int five(int n) {
		int total = n; //: five
		for (int i = 0; i < 8; i++) //: five
			total = total * 31 + (total >>> 3); //: five
		return total / 7; //: five
	}

	static int guarded(Operation operation, int n) {
		int sum = 0; //: guarded
		for (int i = 0; i < n; i++) //: guarded
			sum += operation.apply(sum); //: guarded
		return sum; //: guarded
	}

	static int getter(Operation[] operations, int n) {
		int sum = 0; //: getter
		for (int i = 0; i < n; i++) //: getter
			sum += operations[i & 1].value() / 3; //: getter
		return sum; //: getter
	}

	public static void main(String[] arguments) {
		Operation[] operations = { new Adder(), new Mixer() };
		Target.sink += into(1) + guarded(operations[0], 1) + guarded(operations[1], 1);
		Target.sink += getter(operations, 2);
		Target.ready(Inlined.class); //: turn
		for (int n = 0;; n++) { //: turn
			Target.sink += into(1000); //: turn
			Target.sink += guarded(operations[n / 1000 & 1], 1000); //: turn
			Target.sink += getter(operations, 1000); //: turn
		}
	}
}
