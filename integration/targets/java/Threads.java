// SPDX-License-Identifier: Apache-2.0
// Threads that come and go, some with Java on their stacks for a moment only, and those of an executor.
//
// Code that was entered in a loop (OSR) counts what it does first to the method's first line.
//
// forks: yes
// chain: main@main LIBRARY
// chain: main@main > starts@starts > LIBRARY
// chain: main@main > waits@waits > LIBRARY
// chain: THREAD > HIDDEN > short_lived@short > (LIBRARY|SPIN)
// chain: THREAD > HIDDEN > lambda$main$#@task > (SPIN|LIBRARY)
// chain: THREAD HIDDEN lambda$main$#@task task@task_body (SPIN|LIBRARY)

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Threads {
	static void short_lived() {
		Target.join(); //: short
		Target.spin(20000); //: short
		Target.leave(); //: short
	} //: short

	static int task(int n) {
		return Target.spin(n) + Target.spin(n / 2); //: task_body
	}

	static void starts() throws Exception {
		Thread[] threads = new Thread[4]; //: starts
		for (int i = 0; i < threads.length; i++) //: starts
			threads[i] = new Thread(Threads::short_lived); //: starts
		for (Thread thread : threads) //: starts
			thread.start(); //: starts
		for (Thread thread : threads) //: starts
			thread.join(); //: starts
	} //: starts

	static void waits(Future<?>[] futures) throws Exception {
		for (Future<?> future : futures) //: waits
			if (future != null) //: waits
				future.get(); //: waits
	} //: waits

	public static void main(String[] arguments) throws Exception {
		ExecutorService executor = Executors.newFixedThreadPool(2); //: main
		Future<?>[] futures = new Future<?>[20];
		Target.ready(Threads.class);
		while (true) { //: main
			starts(); //: main
			for (int i = 0; i < futures.length; i++) //: main
				futures[i] = executor.submit(() -> Target.sink += task(5000)); //: main task
			waits(futures); //: main
		}
	}
}
