// SPDX-License-Identifier: Apache-2.0
// Virtual threads, more than there are CPUs: they yield, park, sleep, and hold locks, and so go from one
// carrier to the next. What has been put away is brought back to the stack in parts, as it is returned to.
//
// release: 21
// busy: Target.spin 30
// chain: LIBRARY
// chain: LIBRARY ... HIDDEN lambda$main$#@run > work@work > (LIBRARY|SPIN|deep@deep+ SPIN)
// chain: LIBRARY ... HIDDEN lambda$main$#@run LIBRARY
// chain: LIBRARY ... HIDDEN lambda$main$#@run work@work deep@deep+ LIBRARY
// chain: LIBRARY ... HIDDEN lambda$main$#@run work@work locked@locked (LIBRARY|SPIN)
// chain: main@main LIBRARY

import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

public class Virtual {
	static final ReentrantLock lock = new ReentrantLock();

	static int deep(int depth, int number) {
		if (depth == 0) { //: deep
			if (number % 3 == 0) //: deep
				Thread.yield(); //: deep
			return Target.spin(3000); //: deep
		}
		return deep(depth - 1, number) + 1; //: deep
	}

	static int locked() {
		lock.lock(); //: locked
		try {
			return Target.spin(500); //: locked
		} finally {
			lock.unlock(); //: locked
		} //: locked
	}

	static int work(int number) {
		int sum = Target.spin(1000); //: work
		sum += deep(number * 5, number); //: work
		sum += locked(); //: work
		if (number % 4 == 1) //: work
			LockSupport.parkNanos(1000); //: work
		return sum; //: work
	}

	public static void main(String[] arguments) throws InterruptedException {
		for (int i = 0; i < 8; i++) {
			int number = i;
			Thread.ofVirtual().start(() -> {
				Target.join(); //: run
				while (true) //: run
					Target.sink += work(number); //: run
			});
		}
		Target.sink += work(5);
		Thread.sleep(200);
		Target.ready(Virtual.class);
		while (true) //: main
			Thread.sleep(1000); //: main
	}
}
