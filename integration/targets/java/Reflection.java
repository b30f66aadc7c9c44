// SPDX-License-Identifier: Apache-2.0
// Calls that are made by name: Method.invoke(), Constructor.newInstance(), method handles, proxies.
//
// chain: main@main > turn@turn > LIBRARY
// chain: main@main turn@turn > invoked@invoked > LIBRARY called@called > SPIN
// chain: main@main turn@turn > made@made > LIBRARY <init>@init > (LIBRARY|SPIN)
// chain: main@main turn@turn > handled@handled LIBRARY > called@called > SPIN
// chain: main@main turn@turn > adapted@adapted LIBRARY > called@called > SPIN
// chain: main@main turn@turn > proxied@proxied > PROXY > (HIDDEN lambda$turn$#@handler|LIBRARY)
// chain: main@main turn@turn > proxied@proxied PROXY HIDDEN lambda$turn$#@handler > (LIBRARY|SPIN)

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.IntUnaryOperator;

public class Reflection {
	static final MethodHandle HANDLE = find();
	static MethodHandle variable;

	final int value;

	public Reflection(int n) { //: init
		value = Target.spin(n); //: init
	} //: init

	public static int called(int n) {
		return Target.spin(n); //: called
	}

	static MethodHandle find() {
		try {
			return MethodHandles.lookup().findStatic(Reflection.class, "called",
				MethodType.methodType(int.class, int.class));
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	static int invoked(Method method, int n) throws Throwable {
		int sum = 0; //: invoked
		for (int i = 0; i < n; i++) //: invoked
			sum += (Integer)method.invoke(null, 200); //: invoked
		return sum; //: invoked
	}

	static int made(Constructor<Reflection> constructor, int n) throws Throwable {
		int sum = 0; //: made
		for (int i = 0; i < n; i++) //: made
			sum += constructor.newInstance(200).value; //: made
		return sum; //: made
	}

	static int handled(int n) throws Throwable {
		int sum = 0; //: handled
		for (int i = 0; i < n; i++) //: handled
			sum += (int)HANDLE.invokeExact(200); //: handled
		return sum; //: handled
	}

	static int adapted(int n) throws Throwable {
		int sum = 0; //: adapted
		for (int i = 0; i < n; i++) //: adapted
			sum += (Integer)variable.invoke((Integer)200); //: adapted
		return sum; //: adapted
	}

	static int proxied(IntUnaryOperator proxy, int n) {
		int sum = 0; //: proxied
		for (int i = 0; i < n; i++) //: proxied
			sum += proxy.applyAsInt(200); //: proxied
		return sum; //: proxied
	}

	static int turn(Method method, Constructor<Reflection> constructor) throws Throwable {
		int sum = invoked(method, 20); //: turn
		sum += made(constructor, 20); //: turn
		sum += handled(20); //: turn
		sum += adapted(20); //: turn
		IntUnaryOperator proxy = (IntUnaryOperator)Proxy.newProxyInstance( //: turn
			Reflection.class.getClassLoader(), new Class<?>[] { IntUnaryOperator.class }, //: turn
			(self, called, values) -> Target.spin((Integer)values[0])); //: turn handler
		sum += proxied(proxy, 20); //: turn
		return sum; //: turn
	}

	public static void main(String[] arguments) throws Throwable {
		Method method = Reflection.class.getMethod("called", int.class);
		Constructor<Reflection> constructor = Reflection.class.getConstructor(int.class);
		variable = HANDLE;
		// What was called often gets code of its own.
		for (int i = 0; i < 50; i++)
			Target.sink += turn(method, constructor);
		Target.ready(Reflection.class);
		while (true) //: main
			Target.sink += turn(method, constructor); //: main
	}
}
