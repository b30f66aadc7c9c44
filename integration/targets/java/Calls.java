// SPDX-License-Identifier: Apache-2.0
// Calls of all kinds: of classes, of objects with one, two and many classes, through interfaces with
// default methods, to constructors, lambdas and references to methods.
//
// busy: Target.spin 50
// chain: main@turn > turn@static > SPIN
// chain: main@turn turn@virtual > virtual@virtual > ($Square.area@square|$Circle.area@circle) > SPIN
// chain: main@turn turn@interface > many@many ($Square.sides@square_sides|$Circle.sides@circle_sides|$Line.sides@line_sides|$Point.sides@point_sides) > SPIN
// chain: main@turn turn@default > default_@default > $Shape.twice@twice > ($Square.sides@square_sides|$Circle.sides@circle_sides|$Line.sides@line_sides|$Point.sides@point_sides) > SPIN
// chain: main@turn turn@static_interface > $Shape.none@none > SPIN
// chain: main@turn turn@super > $Square.name@square_name > $Base.name@base_name > SPIN
// chain: main@turn turn@constructor > $Square.<init>@square_init > $Base.<init>@base_init > (LIBRARY|SPIN)
// chain: main@turn turn@lambda > HIDDEN lambda$turn$#@lambda > SPIN
// chain: main@turn turn@captured > HIDDEN lambda$turn$#@captured > SPIN
// chain: main@turn turn@reference > HIDDEN LIBRARY referred@referred > SPIN
// chain: main@turn turn@bound > HIDDEN LIBRARY $Square.area@square > SPIN
// chain: main@turn turn@nested > HIDDEN (lambda$turn$#@nested|lambda$null$#@nested) > HIDDEN (lambda$turn$#@nested|lambda$null$#@nested) > SPIN
// chain: main@turn turn@nested HIDDEN lambda$turn$#@nested (LIBRARY|HIDDEN)
// chain: main@turn turn@lambda,captured,reference,bound,nested LIBRARY

import java.util.function.IntUnaryOperator;

public class Calls {
	interface Shape {
		int sides(int n);

		default int twice(int n) {
			return sides(n) + sides(n); //: twice
		}

		static int none(int n) {
			return Target.spin(n); //: none
		}
	}

	abstract static class Base implements Shape {
		final int size;

		Base(int size) { //: base_init
			this.size = Target.spin(size); //: base_init
		} //: base_init

		abstract int area(int n);

		int name(int n) {
			return Target.spin(n + 1); //: base_name
		}
	}

	static class Square extends Base {
		Square(int size) {
			super(size); //: square_init
		} //: square_init

		@Override int area(int n) {
			return Target.spin(n); //: square
		}

		@Override public int sides(int n) {
			return Target.spin(n + 4); //: square_sides
		}

		@Override int name(int n) {
			return super.name(n) + 1; //: square_name
		}
	}

	static class Circle extends Base {
		Circle(int size) {
			super(size);
		}

		@Override int area(int n) {
			return Target.spin(n); //: circle
		}

		@Override public int sides(int n) {
			return Target.spin(n); //: circle_sides
		}
	}

	static class Line implements Shape {
		@Override public int sides(int n) {
			return Target.spin(n + 1); //: line_sides
		}
	}

	static class Point implements Shape {
		@Override public int sides(int n) {
			return Target.spin(n + 2); //: point_sides
		}
	}

	static int virtual(Base[] shapes) {
		int sum = 0; //: virtual
		for (Base shape : shapes) //: virtual
			sum += shape.area(50); //: virtual
		return sum; //: virtual
	}

	static int many(Shape[] shapes) {
		int sum = 0; //: many
		for (Shape shape : shapes) //: many
			sum += shape.sides(50); //: many
		return sum; //: many
	}

	static int default_(Shape[] shapes) {
		int sum = 0; //: default
		for (Shape shape : shapes) //: default
			sum += shape.twice(50); //: default
		return sum; //: default
	}

	static int referred(int n) {
		return Target.spin(n); //: referred
	}

	static int turn(Base[] two, Shape[] four, int n) {
		int sum = Target.spin(100); //: static
		sum += virtual(two); //: virtual
		sum += many(four); //: interface
		sum += default_(four); //: default
		sum += Shape.none(100); //: static_interface
		sum += two[0].name(100); //: super
		sum += new Square(100).size; //: constructor
		IntUnaryOperator lambda = i -> Target.spin(i + 1); //: lambda
		sum += lambda.applyAsInt(100); //: lambda
		IntUnaryOperator captured = i -> Target.spin(i + n % 3); //: captured
		sum += captured.applyAsInt(100); //: captured
		IntUnaryOperator reference = Calls::referred; //: reference
		sum += reference.applyAsInt(100); //: reference
		IntUnaryOperator bound = two[0]::area; //: bound
		sum += bound.applyAsInt(100); //: bound
		IntUnaryOperator nested = i -> ((IntUnaryOperator)(j -> Target.spin(j))).applyAsInt(i); //: nested
		sum += nested.applyAsInt(100); //: nested
		return sum; //: nested
	}

	public static void main(String[] arguments) {
		Base[] two = { new Square(1), new Circle(2) };
		Shape[] four = { two[0], two[1], new Line(), new Point() };
		Target.sink += turn(two, four, 1);
		Target.ready(Calls.class);
		for (int n = 0;; n++) //: turn
			Target.sink += turn(two, four, n); //: turn
	}
}
