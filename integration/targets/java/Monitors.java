// SPDX-License-Identifier: Apache-2.0
// Locks: methods and blocks that are synchronized, held by one thread again and again, wanted by two at
// once, waited for, and those of java.util.concurrent.
//
// busy: Target.spin 30
// chain: main@main > turn@turn
// chain: main@start LIBRARY
// chain: (THREAD HIDDEN lambda$main$#@other|main@main) turn@turn > own@own > own_inner@own_inner SPIN
// chain: (THREAD HIDDEN lambda$main$#@other|main@main) turn@turn > block@block > SPIN
// chain: (THREAD HIDDEN lambda$main$#@other|main@main) turn@turn > $Shared.method@shared > $Shared.inner@shared_inner > SPIN
// chain: (THREAD HIDDEN lambda$main$#@other|main@main) turn@turn > $Shared.of_class@of_class SPIN
// chain: (THREAD HIDDEN lambda$main$#@other|main@main) turn@turn > locked@locked > (LIBRARY|SPIN)
// chain: (THREAD HIDDEN lambda$main$#@other|main@main) turn@turn > waits@waits > (LIBRARY|SPIN)
// chain: (THREAD HIDDEN lambda$main$#@other|main@main) turn@turn $Shared.method@shared SPIN
// chain: THREAD > HIDDEN lambda$main$#@other turn@turn

import java.util.concurrent.locks.ReentrantLock;

public class Monitors {
	static class Shared {
		int count;

		synchronized int method(int n) {
			count += Target.spin(n); //: shared
			return inner(n); //: shared
		}

		synchronized int inner(int n) {
			return Target.spin(n); //: shared_inner
		}

		static synchronized int of_class(int n) {
			return Target.spin(n); //: of_class
		}
	}

	static final Shared shared = new Shared();
	static final ReentrantLock lock = new ReentrantLock();

	static int own(Object lock, int n) {
		synchronized (lock) { //: own
			return own_inner(lock, n); //: own
		} //: own
	}

	static int own_inner(Object lock, int n) {
		synchronized (lock) { //: own_inner
			return Target.spin(n); //: own_inner
		} //: own_inner
	}

	static int block(int n) {
		int sum = 0; //: block
		for (int i = 0; i < 10; i++) //: block
			synchronized (shared) { //: block
				sum += Target.spin(n); //: block
			} //: block
		return sum; //: block
	}

	static int locked(int n) {
		lock.lock(); //: locked
		try {
			return Target.spin(n); //: locked
		} finally {
			lock.unlock(); //: locked
		} //: locked
	}

	static int waits(int n) {
		synchronized (lock) { //: waits
			try {
				lock.notifyAll(); //: waits
				lock.wait(0, 1000); //: waits
			} catch (InterruptedException e) { //: waits
				return 0; //: waits
			} //: waits
			return Target.spin(n); //: waits
		} //: waits
	}

	static void turn(Object mine) {
		for (int i = 0; i < 20; i++) { //: turn
			Target.sink += own(mine, 200); //: turn
			Target.sink += block(100); //: turn
			Target.sink += shared.method(300); //: turn
			Target.sink += Shared.of_class(500); //: turn
			Target.sink += locked(300); //: turn
		}
		Target.sink += waits(300); //: turn
	} //: turn

	public static void main(String[] arguments) {
		Object mine = new Object();
		turn(mine);
		Target.ready(Monitors.class);
		new Thread(() -> { //: start
			Object others = new Object(); //: other
			Target.join(); //: other
			while (true) //: other
				turn(others); //: other
		}).start(); //: start
		while (true) //: main
			turn(mine); //: main
	}
}
