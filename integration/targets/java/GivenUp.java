// SPDX-License-Identifier: Apache-2.0
// Frames of compiled code that is given up while it calls: it counts on a class that nothing overrides, until
// what it calls loads a class that does. What it was at is then told by the frame, and no more by where its
// callee returns to.
//
// chain: main@main > LIBRARY
// chain: main@main turn@turn > LIBRARY ($Loader.loadClass@load LIBRARY)*
// chain: main@main turn@turn LIBRARY? ($Loader.<init>@loader|$Load.<init>@load_class|$One.<init>@class|$Two.<init>@class|$Three.<init>@class|$Caller.<init>@class) LIBRARY
// chain: main@main turn@turn $Caller.run@run $Base.<init>@class LIBRARY
// chain: main@main turn@turn $Caller.run@run > $Caller.outer@outer > $Caller.inner@inner > $Base.step@step > ($One.run@one|$Two.run@two|$Three.run@three) > SPIN
// chain: main@main turn@turn $Caller.run@run ($Caller.outer@outer ($Caller.inner@inner ($Base.step@step ($Load.run@loads)?)?)?)? LIBRARY ($Loader.loadClass@load LIBRARY)*
// chain: main@main turn@turn $Caller.run@run $Caller.outer@outer $Caller.inner@inner $Base.step@step $Load.run@loads > SPIN

import java.util.Arrays;
import java.util.List;

public class GivenUp {
	public interface Round {
		int run(Runnable[] actions, int count);
	}

	public static class Base { //: class
		int step(Runnable action) {
			action.run(); //: step
			return 1; //: step
		}
	}

	/** What nobody counted on. */
	public static class Other extends Base {
		@Override int step(Runnable action) {
			return 2;
		}
	}

	public static class Caller implements Round { //: class
		static int inner(Base base, Runnable action) {
			return base.step(action) + 1; //: inner
		}

		static int outer(Base base, Runnable action) {
			int sum = inner(base, action); //: outer
			return sum + 1; //: outer
		}

		@Override public int run(Runnable[] actions, int count) {
			Base base = new Base(); //: run
			int sum = 0; //: run
			for (int i = 0; i < count; i++) //: run
				sum += outer(base, actions[i % 3]); //: run
			return sum + outer(base, actions[3]); //: run
		}
	}

	/** Of three classes, so that no compiler counts on any of them. */
	static class One implements Runnable { //: class
		@Override public void run() {
			Target.spin(7); //: one
		} //: one
	}

	static class Two implements Runnable { //: class
		@Override public void run() {
			Target.spin(8); //: two
		} //: two
	}

	static class Three implements Runnable { //: class
		@Override public void run() {
			Target.spin(9); //: three
		} //: three
	}

	static class Load implements Runnable { //: load_class
		private final Loader loader;

		Load(Loader loader) { //: load_class
			this.loader = loader; //: load_class
		} //: load_class

		@Override public void run() {
			try {
				Class.forName(Other.class.getName(), true, loader); //: loads
			} catch (ClassNotFoundException e) {
				throw new IllegalStateException(e);
			}
			for (int i = 0; i < 200; i++) //: loads
				Target.spin(10000); //: loads
		} //: loads
	}

	static class Loader extends ClassLoader {
		private static final List<String> OWN = Arrays.asList(
			Base.class.getName(), Other.class.getName(), Caller.class.getName());
		private static final byte[][] BYTES = new byte[OWN.size()][];

		static {
			try {
				BYTES[0] = Loading.bytesOf(Base.class);
				BYTES[1] = Loading.bytesOf(Other.class);
				BYTES[2] = Loading.bytesOf(Caller.class);
			} catch (Exception e) {
				throw new IllegalStateException(e);
			}
		}

		Loader() { //: loader
			super(GivenUp.class.getClassLoader()); //: loader
		} //: loader

		@Override protected Class<?> loadClass(String wanted, boolean resolve) throws ClassNotFoundException {
			int own = OWN.indexOf(wanted); //: load
			if (own < 0) //: load
				return super.loadClass(wanted, resolve); //: load
			Class<?> known = findLoadedClass(wanted); //: load
			return known != null ? known : defineClass(wanted, BYTES[own], 0, BYTES[own].length); //: load
		}
	}

	static int turn(int count) throws Exception {
		Loader loader = new Loader(); //: turn
		Runnable[] actions = { new One(), new Two(), new Three(), new Load(loader) }; //: turn
		Class<?> caller = loader.loadClass(Caller.class.getName()); //: turn
		Round round = (Round)caller.getDeclaredConstructor().newInstance(); //: turn
		return round.run(actions, count); //: turn
	}

	public static void main(String[] arguments) throws Exception {
		Target.sink += turn(10);
		Target.ready(GivenUp.class);
		while (true) //: main
			Target.sink += turn(100000); //: main
	}
}
