// SPDX-License-Identifier: Apache-2.0
// Methods that are inlined into each other, five deep, with the work at each depth; and one of several
// bodies, of which the one that is called is inlined behind a check.
//
// chain: main@turn > one@one > two@two > three@three > four@four > five@five
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

	static int one(int n) {
		int sum = 0; //: one
		for (int i = 0; i < n; i++) //: one
			sum = sum * 31 + two(i); //: one
		return sum; //: one
	}

	static int two(int n) {
		int sum = n; //: two
		for (int i = 0; i < 4; i++) //: two
			sum = sum * 17 ^ three(sum + i); //: two
		return sum; //: two
	}

	static int three(int n) {
		return four(n) * 7 + four(n >>> 2); //: three
	}

	static int four(int n) {
		return five(n % 1000) ^ five(n * 3); //: four
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
		Target.sink += one(1) + guarded(operations[0], 1) + guarded(operations[1], 1);
		Target.sink += getter(operations, 2);
		Target.ready(Inlined.class);
		for (int n = 0;; n++) { //: turn
			Target.sink += one(100); //: turn
			Target.sink += guarded(operations[n / 1000 & 1], 1000); //: turn
			Target.sink += getter(operations, 1000); //: turn
		}
	}
}
