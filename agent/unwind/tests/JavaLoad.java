// SPDX-License-Identifier: Apache-2.0
// All kinds of Java frames, over and over again, until the process is killed. java_unwind_test.c knows which of
// these methods calls which.

import java.lang.reflect.Method;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;

public class JavaLoad {
	interface Shape {
		double area();
	}

	static class Square implements Shape {
		double size;
		Square(double size) { this.size = size; }
		public double area() { return size * size; }
	}

	static class Circle implements Shape {
		double size;
		Circle(double size) { this.size = size; }
		public double area() { return size * size * 3.14; }
	}

	static class Triangle implements Shape {
		double size;
		Triangle(double size) { this.size = size; }
		public double area() { return size * size / 2; }
	}

	static class Hexagon implements Shape {
		double size;
		Hexagon(double size) { this.size = size; }
		public double area() { return size * size * 2; }
	}

	static int fib(int n) {
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	}

	static double shapes(Shape[] shapes) {
		double sum = 0;
		for (Shape shape : shapes)
			sum += shape.area();
		return sum;
	}

	static int thrower(int depth) {
		if (depth == 0)
			throw new IllegalStateException("x");
		return thrower(depth - 1) + 1;
	}

	static int exceptions() {
		int count = 0;
		for (int i = 0; i < 20; i++) {
			try {
				count += thrower(i % 7);
			} catch (IllegalStateException e) {
				count++;
			}
		}
		return count;
	}

	static synchronized int sync(int n) {
		int sum = 0;
		for (int i = 0; i < n; i++)
			sum += i;
		return sum;
	}

	static long streams() {
		return IntStream.range(0, 500).boxed().map(x -> x * 2).filter(x -> x % 3 == 0)
			.mapToLong(Integer::longValue).sum();
	}

	static int sha(byte[] bytes) throws Exception {
		return MessageDigest.getInstance("SHA-256").digest(bytes)[0];
	}

	static int copies(int[] from) {
		int[] to = new int[from.length];
		System.arraycopy(from, 0, to, 0, from.length);
		System.arraycopy(to, 1, from, 0, from.length - 1);
		return Arrays.hashCode(to);
	}

	static String strings(int n) {
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < 30; i++)
			text.append(n + i).append(',');
		return text.toString().replace("1", "one");
	}

	public static int target(int n) {
		return n * 31 + 7;
	}

	static long maps() {
		Map<String, Integer> map = new TreeMap<>();
		long sum = 0;
		for (int i = 0; i < 200; i++)
			map.merge("k" + (i * 7919 % 101), 1, Integer::sum);
		for (int value : map.values())
			sum += value;
		return sum;
	}

	static long sorts(Random random) {
		Integer[] numbers = new Integer[100];
		for (int i = 0; i < numbers.length; i++)
			numbers[i] = random.nextInt();
		Arrays.sort(numbers, (a, b) -> b.compareTo(a));
		return numbers[0];
	}

	static long floats(int n) {
		return String.format("%d %s", n, "q").length() + Math.round(Math.sin(n) * Math.pow(n, 0.3));
	}

	public static void main(String[] arguments) throws Exception {
		Method method = JavaLoad.class.getMethod("target", int.class);
		Shape[] shapes = new Shape[200];
		byte[] bytes = new byte[2000];
		int[] numbers = new int[3000];
		Random random = new Random(1);
		long sum = 0;
		for (int i = 0; i < shapes.length; i++)
			shapes[i] = i % 4 == 0 ? new Square(i) : i % 4 == 1 ? new Circle(i) :
				    i % 4 == 2 ? new Triangle(i) : new Hexagon(i);
		System.out.println("ready");
		for (int i = 0; sum != 1; i++) {
			sum += fib(12);
			sum += (long)shapes(shapes);
			sum += exceptions();
			sum += sync(200);
			sum += streams();
			sum += sha(bytes);
			sum += copies(numbers);
			sum += strings(i).hashCode();
			sum += (Integer)method.invoke(null, i);
			sum += maps();
			sum += sorts(random);
			sum += floats(i);
		}
	}
}
