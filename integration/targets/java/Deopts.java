// SPDX-License-Identifier: Apache-2.0
// Code that is thrown away again and again: what it counted on (one kind of object, a branch
// that is not taken, no exception) is true for long and then is not.
//
// chain: main@main > turn@turn
// chain: main@main turn@turn > kinds@kinds > ($Base.step@base|$Other.step@other|$Third.step@third) > SPIN
// chain: main@main turn@turn > branches@branches > (rare@rare|often@often) > SPIN
// chain: main@main turn@turn > bounds@bounds > LIBRARY

public class Deopts {
	static class Base {
		int step(int n) {
			return Target.spin(n & 7); //: base
		}
	}

	static class Other extends Base {
		@Override int step(int n) {
			return Target.spin(n & 15); //: other
		}
	}

	static class Third extends Base {
		@Override int step(int n) {
			return Target.spin(n & 31); //: third
		}
	}

	static int rare(int n) {
		return Target.spin(n); //: rare
	}

	static int often(int n) {
		return Target.spin(n); //: often
	}

	static int kinds(Base base, int n) {
		int sum = 0; //: kinds
		for (int i = 0; i < n; i++) //: kinds
			sum += base.step(i); //: kinds
		return sum; //: kinds
	}

	static int branches(boolean is_rare, int n) {
		int sum = 0; //: branches
		for (int i = 0; i < n; i++) //: branches
			sum += is_rare ? rare(i & 7) : often(i & 15); //: branches
		return sum; //: branches
	}

	static int bounds(int[] numbers, int n) {
		int sum = 0; //: bounds
		try {
			for (int i = 0; i < n; i++) //: bounds
				sum += numbers[i] * 3; //: bounds
		} catch (ArrayIndexOutOfBoundsException e) { //: bounds
			sum++; //: bounds
		} //: bounds
		return sum; //: bounds
	}

	static int turn(int n, Base[] bases, int[] numbers) {
		int sum = 0; //: turn
		for (int i = 0; i < 20; i++) //: turn
			sum += kinds(bases[n / 20 % 3], 500); //: turn
		for (int i = 0; i < 20; i++) //: turn
			sum += branches(n / 10 % 2 == 1, 500); //: turn
		for (int i = 0; i < 20; i++) //: turn
			sum += bounds(numbers, n % 20 == 19 ? 1001 : 1000); //: turn
		return sum; //: turn
	}

	public static void main(String[] arguments) {
		Base[] bases = { new Base(), new Other(), new Third() };
		int[] numbers = new int[1000];
		for (int n = 0; n < 60; n++)
			Target.sink += turn(n, bases, numbers);
		Target.ready(Deopts.class);
		for (int n = 0;; n++) //: main
			Target.sink += turn(n, bases, numbers); //: main
	}
}
