// SPDX-License-Identifier: Apache-2.0
// Ten thousand deep, of which the innermost part is seen.
//
// chain: THREAD HIDDEN? run@run deep@deep* (bottom@bottom SPIN?)?
// chain: THREAD HIDDEN
// depth: 3000
// truncated: yes

public class Bottomless {
	static int deep(int depth) {
		if (depth == 0) //: deep
			return bottom(); //: deep
		return deep(depth - 1) + 1; //: deep
	}

	static int bottom() {
		int sum = 0; //: bottom
		for (int i = 0; i < 10000; i++) //: bottom
			sum += Target.spin(10000); //: bottom
		return sum; //: bottom
	}

	static void run() {
		Target.sink += deep(5); //: run
		Target.ready(Bottomless.class); //: run
		while (true) //: run
			Target.sink += deep(10000); //: run
	}

	public static void main(String[] arguments) {
		new Thread(null, Bottomless::run, "deep", 256 << 20).start();
	}
}
