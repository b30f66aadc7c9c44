// SPDX-License-Identifier: Apache-2.0
// Streams, collections and comparators: the JDK calls back, over and over again.
//
// chain: main@main > turn@turn > LIBRARY
// chain: main@main turn@turn mapped@mapped > LIBRARY lambda$mapped$#@map > SPIN
// chain: main@main turn@turn mapped@mapped > LIBRARY lambda$mapped$#@filter > SPIN
// chain: main@main turn@turn mapped@mapped LIBRARY (lambda$mapped$#@map|lambda$mapped$#@filter)
// chain: main@main turn@turn sorted@sorted LIBRARY (lambda$sorted$#@compare (LIBRARY|SPIN))?
// chain: main@main turn@turn computed@computed LIBRARY (lambda$computed$#@compute (LIBRARY|SPIN))?
// chain: main@main turn@turn each@each LIBRARY (lambda$each$#@each (LIBRARY|SPIN))?
// chain: main@main turn@turn collected@collected LIBRARY (lambda$collected$#@collected (LIBRARY|SPIN))?

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

public class Streams {
	static int mapped(int n) {
		return IntStream.range(0, n) //: mapped
			.map(i -> Target.spin(i & 31)) //: map mapped
			.filter(i -> (Target.spin(20) & i) != 1) //: filter mapped
			.sum(); //: mapped
	}

	static int sorted(Integer[] numbers) {
		Integer[] copy = numbers.clone(); //: sorted
		Arrays.sort(copy, (a, b) -> b - a + (Target.spin(3) & 0)); //: sorted compare
		return copy[0]; //: sorted
	}

	static int computed(int n) {
		Map<String, Integer> map = new TreeMap<>(); //: computed
		for (int i = 0; i < n; i++) //: computed
			map.computeIfAbsent("k" + i % 17, key -> Target.spin(key.length() * 30)); //: computed compute
		return map.size(); //: computed
	}

	static int each(List<Integer> list) {
		list.forEach(one -> Target.spin(one & 63)); //: each
		return list.size(); //: each
	}

	static int collected(List<Integer> list) {
		return list.stream().collect(Collectors.groupingBy(one -> Target.spin(one & 31) & 3)).size(); //: collected
	}

	static int turn(Integer[] numbers, List<Integer> list) {
		int sum = mapped(300); //: turn
		sum += sorted(numbers); //: turn
		sum += computed(100); //: turn
		sum += each(list); //: turn
		sum += collected(list); //: turn
		return sum; //: turn
	}

	public static void main(String[] arguments) {
		Integer[] numbers = new Integer[200];
		for (int i = 0; i < numbers.length; i++)
			numbers[i] = i * 7919 % 1009;
		List<Integer> list = new ArrayList<>(Arrays.asList(numbers));
		Target.sink += turn(numbers, list);
		Target.ready(Streams.class);
		while (true) //: main
			Target.sink += turn(numbers, list); //: main
	}
}
