// SPDX-License-Identifier: Apache-2.0
// Objects, made faster than they can be collected, of which some live for long: the collector moves
// them, and the threads stand still for that. Finalizers and references are the JDK's threads' work.
//
// chain: main@main > turn@turn > (small@small|arrays@arrays|(strings@strings|kept@kept|referred@referred) LIBRARY)
// chain: main@main turn@turn small@small $Node.<init>@node LIBRARY

import java.lang.ref.WeakReference;
import java.util.ArrayDeque;

public class Garbage {
	static class Node {
		final Node next;
		long a, b, c;

		Node(Node next) { //: node
			this.next = next; //: node
			a = b = 1; //: node
		} //: node
	}

	static final ArrayDeque<Object> kept = new ArrayDeque<>();

	static int small(int n) {
		Node node = null; //: small
		for (int i = 0; i < n; i++) //: small
			node = new Node(i % 100 == 0 ? null : node); //: small
		return (int)node.a; //: small
	}

	static int arrays(int n) {
		int sum = 0; //: arrays
		for (int i = 1; i < n; i++) { //: arrays
			byte[] bytes = new byte[i * 40]; //: arrays
			Object[] objects = new Object[i]; //: arrays
			objects[i / 2] = bytes; //: arrays
			sum += objects.length; //: arrays
		}
		return sum; //: arrays
	}

	static int strings(int n) {
		StringBuilder text = new StringBuilder(); //: strings
		for (int i = 0; i < n; i++) //: strings
			text.append(i); //: strings
		return text.toString().length(); //: strings
	}

	static int kept(int n) {
		for (int i = 0; i < n; i++) { //: kept
			kept.addLast(new byte[2000]); //: kept
			if (kept.size() > 5000) //: kept
				kept.removeFirst(); //: kept
		}
		return kept.size(); //: kept
	}

	static int referred(int n) {
		int sum = 0; //: referred
		for (int i = 0; i < n; i++) //: referred
			if (new WeakReference<>(new Object()).get() != null) //: referred
				sum++; //: referred
		return sum; //: referred
	}

	static int turn() {
		int sum = small(2000); //: turn
		sum += arrays(200); //: turn
		sum += strings(500); //: turn
		sum += kept(200); //: turn
		sum += referred(100); //: turn
		return sum; //: turn
	}

	public static void main(String[] arguments) {
		Target.sink += turn();
		Target.ready(Garbage.class);
		while (true) //: main
			Target.sink += turn(); //: main
	}
}
