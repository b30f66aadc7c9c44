// SPDX-License-Identifier: Apache-2.0
// C called without JNI, which calls back: qsort() with a comparison in Java.
//
// release: 22
// chain: main@main > turn@turn > LIBRARY
// chain: main@main turn@turn LIBRARY compare@compare > (LIBRARY|SPIN)

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

public class Upcalls {
	static int compare(MemorySegment one, MemorySegment other) {
		Target.spin(50); //: compare
		return Integer.compare(one.get(ValueLayout.JAVA_INT, 0), other.get(ValueLayout.JAVA_INT, 0)); //: compare
	}

	static int turn(MethodHandle sort, MemorySegment comparison, MemorySegment numbers) throws Throwable {
		for (int i = 0; i < 100; i++) //: turn
			numbers.setAtIndex(ValueLayout.JAVA_INT, i, i * 7919 % 101); //: turn
		sort.invokeExact(numbers, 100L, 4L, comparison); //: turn
		return numbers.getAtIndex(ValueLayout.JAVA_INT, 0); //: turn
	}

	public static void main(String[] arguments) throws Throwable {
		Linker linker = Linker.nativeLinker();
		MethodHandle sort = linker.downcallHandle(linker.defaultLookup().find("qsort").get(),
			FunctionDescriptor.ofVoid(ValueLayout.ADDRESS, ValueLayout.JAVA_LONG,
				ValueLayout.JAVA_LONG, ValueLayout.ADDRESS));
		MemoryLayout number = ValueLayout.JAVA_INT;
		MethodHandle compare = MethodHandles.lookup().findStatic(Upcalls.class, "compare",
			MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class));
		try (Arena arena = Arena.ofConfined()) {
			MemorySegment comparison = linker.upcallStub(compare, FunctionDescriptor.of(
				ValueLayout.JAVA_INT, ValueLayout.ADDRESS.withTargetLayout(number),
				ValueLayout.ADDRESS.withTargetLayout(number)), arena);
			MemorySegment numbers = arena.allocate(number, 100);
			Target.sink += turn(sort, comparison, numbers);
			Target.ready(Upcalls.class);
			while (true) //: main
				Target.sink += turn(sort, comparison, numbers); //: main
		}
	}
}
