// SPDX-License-Identifier: Apache-2.0
// Classes of all kinds: nested, inner, local, anonymous, enumerations with bodies, generic ones with
// bridges, and initializers. With DebugNonSafepoints JFR, too, gives 99 samples of 100 to the last line of
// turn() (17, 21, 25).
//
// busy: Target.spin 50 0
// chain: main@main > turn@turn
// chain: main@main turn@turn > $Nested$Deeper.run@nested SPIN
// chain: main@main turn@turn > $Inner.run@inner > access$#@class? > of_outer@of_outer > SPIN
// chain: main@main turn@turn > $1Local.run@local SPIN
// chain: main@main turn@turn > $#.run@anonymous SPIN
// chain: main@main turn@turn > ($Kind$#.run@first|$Kind$#.run@second) SPIN
// chain: main@main turn@turn > $Typed.apply@bridge > $Typed.apply@typed > (LIBRARY|SPIN)
// chain: main@main turn@turn > variable@variable > SPIN
// chain: main@main turn@turn > ($Inner.<init>@class|$1Local.<init>@class|$Nested$Deeper.<init>@class|$#.<init>@class) LIBRARY
// chain: main@main turn@turn LIBRARY

import java.util.function.Function;

public class Classes { //: class
	static class Nested { //: class
		static class Deeper { //: class
			int run(int n) {
				return Target.spin(n); //: nested
			}
		}
	}

	class Inner { //: class
		int run(int n) {
			return of_outer(n); //: inner
		}
	}

	enum Kind {
		FIRST {
			@Override int run(int n) {
				return Target.spin(n); //: first
			}
		},
		SECOND {
			@Override int run(int n) {
				return Target.spin(n + 1); //: second
			}
		};

		abstract int run(int n);
	}

	static class Typed implements Function<Integer, Integer> { //: bridge class
		@Override public Integer apply(Integer n) {
			return Target.spin(n); //: typed
		}
	}

	interface Runs {
		int run(int n);
	}

	private int of_outer(int n) {
		return Target.spin(n); //: of_outer
	}

	static int variable(int... numbers) {
		return Target.spin(numbers[0]); //: variable
	}

	int turn(Function<Integer, Integer> typed) {
		class Local { //: class
			int run(int n) {
				return Target.spin(n); //: local
			}
		}
		Runs anonymous = new Runs() { //: turn class
			@Override public int run(int n) {
				return Target.spin(n); //: anonymous
			}
		};
		int sum = new Nested.Deeper().run(300); //: turn
		sum += new Inner().run(300); //: turn
		sum += new Local().run(300); //: turn
		sum += anonymous.run(300); //: turn
		sum += Kind.FIRST.run(300) + Kind.SECOND.run(300); //: turn
		sum += typed.apply(100); //: turn
		return sum + variable(300, 2, 3); //: turn
	}

	public static void main(String[] arguments) {
		Classes classes = new Classes();
		Typed typed = new Typed();
		Target.sink += classes.turn(typed);
		Target.ready(Classes.class);
		while (true) //: main
			Target.sink += classes.turn(typed); //: main
	}
}
