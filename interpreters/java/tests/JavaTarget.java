// SPDX-License-Identifier: Apache-2.0
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * Has some methods compiled, and says what the JVM knows of itself, for java_live_test.c: its version,
 * its code heaps, and, from 9 on, its list of all that it has compiled. Then it waits.
 */
public class JavaTarget {
    private static final int WARM_UP = 20_000;
    private static final int CHAIN_ARGUMENT = 1_000_000_000;

    interface Shape {
        int area();
    }

    static int loop(int turns) {
        int sum = 0;
        for (int i = 0; i < turns; i++)
            sum += i ^ turns;
        return sum;
    }

    /** Small enough for each compiler to inline, with a pc that the JVM has to know. */
    static int divide(int a, int b) {
        return a / b;
    }

    static int divides(int[] numbers) {
        int sum = 0;
        for (int number : numbers)
            sum += divide(1000, number);
        return sum;
    }

    /** What the stack was in where(), as Java says it, from its caller to deep(). */
    static String chain;

    /** Not inlined, as an option says: where it returns to, the JVM has to know of all methods. */
    static int where(int n) {
        if (n < -CHAIN_ARGUMENT / 2) {
            StringBuilder text = new StringBuilder();
            for (StackTraceElement frame : new Throwable().getStackTrace()) {
                if (!frame.getMethodName().equals("where"))
                    text.append(' ').append(frame.getClassName()).append('.')
                        .append(frame.getMethodName()).append(':').append(frame.getLineNumber());
                if (frame.getMethodName().equals("deep"))
                    break;
            }
            chain = text.toString();
        }
        return n * 31;
    }

    static int five(int n) {
        return where(n) + 1;
    }

    static int four(int n) {
        return five(n + 4) + 1;
    }

    static int three(int n) {
        return four(n + 3) + 1;
    }

    static int two(int n) {
        return three(n + 2) + 1;
    }

    static int one(int n) {
        return two(n + 1) + 1;
    }

    static int deep(int n) {
        int sum = n;
        sum += one(n);
        return sum;
    }

    static int größe(Shape shape) {
        return shape.area();
    }

    static long work() {
        Map<String, Integer> counts = new HashMap<>();
        List<Shape> shapes = new ArrayList<>();
        int[] numbers = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
        long sum = 0;
        for (int i = 0; i < 3; i++) {
            int side = i;
            shapes.add(() -> side * side);
        }
        for (int i = 0; i < WARM_UP; i++) {
            sum += loop(100) + divides(numbers) + größe(shapes.get(i % 3)) + deep(i);
            counts.merge("key" + i % 100, 1, Integer::sum);
        }
        return sum + loop(2_000_000) + counts.size();
    }

    /** Empty where the JVM has no such command. */
    static String codeList() {
        try {
            MBeanServer server = ManagementFactory.getPlatformMBeanServer();
            return (String) server.invoke(
                new ObjectName("com.sun.management:type=DiagnosticCommand"), "compilerCodelist",
                new Object[0], new String[0]);
        } catch (Exception e) {
            return "";
        }
    }

    /** Once nothing has been compiled for a while. */
    static String settledCodeList() throws InterruptedException {
        String list = codeList();
        for (int same = 0; same < 3;) {
            Thread.sleep(100);
            String next = codeList();
            same = next.equals(list) ? same + 1 : 0;
            list = next;
        }
        return list;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream output = new PrintStream(System.out, true, "UTF-8");
        output.println("work " + work());
        String list = settledCodeList();
        output.println("version " + System.getProperty("java.specification.version") + " "
            + System.getProperty("java.vm.version"));
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans())
            if (pool.getName().startsWith("Code"))
                output.println("heap " + pool.getUsage().getMax() + " "
                    + pool.getUsage().getUsed() + " " + pool.getName());
        deep(-CHAIN_ARGUMENT);
        output.println("chain" + chain);
        for (String line : list.split("\n"))
            output.println("code " + line);
        output.println("end");
        System.in.read();
    }
}
