// SPDX-License-Identifier: Apache-2.0
// Kotlin: functions of a file, extensions, default arguments, inline functions, lambdas, companions,
// sequences.
//
// busy: Target.spin 20 1
// chain: main@- > main@main > turn@turn > LIBRARY
// chain: main@- main@main turn@- LIBRARY
// chain: main@- main@main turn@behind
// chain: main@- main@main turn@turn > KotlinGreeter.greet@class > KotlinGreets$DefaultImpls.greet@greet > SPIN
// chain: main@- main@main turn@turn > KotlinGreeter$Companion.made@made > SPIN
// chain: main@- main@main turn@turn > extended@extended > SPIN
// chain: main@- main@main turn@turn > defaults$default@defaults > defaults@defaults > SPIN
// chain: main@- main@main turn@turn > with%spaces@spaces > SPIN
// chain: main@- main@main turn@turn SPIN
// chain: main@- main@main turn@turn LIBRARY $turn$#.invoke@closure{1,2} (SPIN|LIBRARY)
interface KotlinGreets { //: class
    fun greet(n: Int): Int = Target.spin(n) //: greet
}

class KotlinGreeter(val size: Int) : KotlinGreets { //: class
    companion object {
        fun made(n: Int) = Target.spin(n) //: made
    }
}

fun Int.extended() = Target.spin(this) //: extended

fun defaults(n: Int = 300, more: Int = 3) = Target.spin(n + more) //: defaults

inline fun twice(body: (Int) -> Int) = body(100) + body(200)

fun `with spaces`(n: Int) = Target.spin(n) //: spaces

fun turn(greeter: KotlinGreeter, numbers: List<Int>): Int {
    var sum = greeter.greet(300) //: turn
    sum += KotlinGreeter.made(300) //: turn
    sum += 300.extended() //: turn
    sum += defaults() //: turn
    sum += twice { Target.spin(it) } //: turn
    sum += `with spaces`(300) //: turn
    sum += numbers.asSequence().map { Target.spin(it) }.filter { it != 3 }.sum() //: turn closure
    return sum //: turn
}

fun main() {
    val greeter = KotlinGreeter(3)
    val numbers = (0..50).toList()
    Target.sink += turn(greeter, numbers)
    Target.ready("Kotlin")
    while (true) //: main
        Target.sink += turn(greeter, numbers) //: main
}
