// SPDX-License-Identifier: Apache-2.0
// Names beyond ASCII and beyond 16 bits, long ones, signs, and overloads, of
// which only the line tells which one it is.
//
// busy: Target.spin 60
// chain: main@main > turn@turn
// chain: main@main turn@turn > größe_ÿ@latin SPIN
// chain: main@main turn@turn > функция_名前@wide SPIN
// chain: main@main turn@turn > 𐐨𐐩_é@widest SPIN
// chain: main@main turn@turn > $Größe.метод@nested SPIN
// chain: main@main turn@turn > a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_@long SPIN
// chain: main@main turn@turn > $$.$@dollar SPIN
// chain: main@main turn@turn > overloaded@int_ SPIN
// chain: main@main turn@turn > overloaded@long_ overloaded@int_ SPIN
// chain: main@main turn@turn > overloaded@long_ > overloaded@int_
// chain: main@main turn@turn > overloaded@text > LIBRARY
// chain: main@main turn@turn overloaded@text SPIN

public class Names {
	static class Größe {
		static int метод(int n) {
			return Target.spin(n); //: nested
		}
	}

	static class $ {
		static int $(int n) {
			return Target.spin(n); //: dollar
		}
	}

	static int größe_ÿ(int n) {
		return Target.spin(n); //: latin
	}

	static int функция_名前(int n) {
		return Target.spin(n); //: wide
	}

	static int 𐐨𐐩_é(int n) {
		return Target.spin(n); //: widest
	}

	static int a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_(int n) {
		return Target.spin(n); //: long
	}

	static int overloaded(int n) {
		return Target.spin(n); //: int_
	}

	static int overloaded(long n) {
		return overloaded((int)n + 1); //: long_
	}

	static int overloaded(String text) {
		return Target.spin(text.length()); //: text
	}

	static void turn() {
		Target.sink += größe_ÿ(300); //: turn
		Target.sink += функция_名前(300); //: turn
		Target.sink += 𐐨𐐩_é(300); //: turn
		Target.sink += Größe.метод(300); //: turn
		Target.sink += a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_a_long_name_(300); //: turn
		Target.sink += $.$(300); //: turn
		Target.sink += overloaded(300); //: turn
		Target.sink += overloaded(300L); //: turn
		Target.sink += overloaded("some text of a few letters"); //: turn
	} //: turn

	public static void main(String[] arguments) {
		turn();
		Target.ready(Names.class);
		while (true) //: main
			turn(); //: main
	}
}
