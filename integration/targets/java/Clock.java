// SPDX-License-Identifier: Apache-2.0
// What time it is, from code of the kernel in user space.
//
// chain: main@main > turn@turn
// chain: main@main turn@turn > nano@nano LIBRARY
// chain: main@main turn@turn > milli@milli LIBRARY
// chain: main@main turn@turn > instant@instant LIBRARY

import java.time.Instant;

public class Clock {
	static long nano(int n) {
		long sum = 0; //: nano
		for (int i = 0; i < n; i++) //: nano
			sum += System.nanoTime(); //: nano
		return sum; //: nano
	}

	static long milli(int n) {
		long sum = 0; //: milli
		for (int i = 0; i < n; i++) //: milli
			sum += System.currentTimeMillis(); //: milli
		return sum; //: milli
	}

	static long instant(int n) {
		long sum = 0; //: instant
		for (int i = 0; i < n; i++) //: instant
			sum += Instant.now().getNano(); //: instant
		return sum; //: instant
	}

	static int turn() {
		long sum = nano(1000); //: turn
		sum += milli(1000); //: turn
		sum += instant(1000); //: turn
		return (int)sum; //: turn
	}

	public static void main(String[] arguments) {
		Target.sink += turn();
		Target.ready(Clock.class);
		while (true) //: main
			Target.sink += turn(); //: main
	}
}
