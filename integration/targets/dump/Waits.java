// SPDX-License-Identifier: Apache-2.0
/** Two threads wait; jstack shows their stacks. */
public class Waits {
	interface Step {
		void run() throws Exception;
	}

	static void innermost(boolean isLast) throws Exception {
		if (isLast)
			System.out.println("ready");
		Thread.sleep(1000000);
	}

	void recurse(int left, boolean isLast) throws Exception {
		if (left > 0) {
			recurse(left - 1, isLast);
			return;
		}
		Step step = () -> innermost(isLast);
		step.run();
	}

	public static void main(String[] arguments) throws Exception {
		Thread other = new Thread(() -> {
			try {
				new Waits().recurse(5, false);
			} catch (Exception exception) {
				throw new RuntimeException(exception);
			}
		}, "other");
		other.setDaemon(true);
		other.start();
		while (other.getState() != Thread.State.TIMED_WAITING)
			Thread.sleep(1);
		new Waits().recurse(3, true);
	}
}
