// SPDX-License-Identifier: Apache-2.0
// Scala: objects, traits, closures, pattern matching, names with signs, lazy values.
//
// busy: Target.spin 15 1
// chain: main@- > $.main@main > $.turn@turn > LIBRARY
// chain: main@- $.main@main $.turn@turn > ScalaGreeter.greet@class > ScalaGreets.greet$@class,greet > ScalaGreets.greet@greet > SPIN
// chain: main@- $.main@main $.turn@turn > ScalaGreeter.$plus$plus$plus@signs > (SPIN|ScalaGreeter.size@class)
// chain: main@- $.main@main $.turn@turn > $.matched@matched > (SPIN|LIBRARY)
// chain: main@- $.main@main $.turn@turn LIBRARY $.$anonfun$turn$#@closure,each > (SPIN|LIBRARY)
import scala.collection.mutable.ArrayBuffer

trait ScalaGreets { //: class
  def greet(n: Int): Int = Target.spin(n) //: greet
}

class ScalaGreeter(val size: Int) extends ScalaGreets { //: class
  def +++(n: Int): Int = Target.spin(n + size) //: signs
}

object Scala {
  def matched(any: Any): Int = any match { //: matched
    case n: Int if n > 3 => Target.spin(n) //: matched
    case s: String => Target.spin(s.length) //: matched
    case _ => Target.spin(7) //: matched
  }

  def turn(greeter: ScalaGreeter, numbers: ArrayBuffer[Int]): Int = {
    var sum = greeter.greet(300) //: turn
    sum += greeter.+++(300) //: turn
    sum += matched(300) + matched("some text") + matched(null) //: turn
    sum += numbers.map(n => Target.spin(n)).foldLeft(0)(_ + _) //: turn closure
    for (n <- numbers) //: turn
      sum += Target.spin(n) //: turn each
    sum //: turn
  }

  def main(arguments: Array[String]): Unit = {
    val greeter = new ScalaGreeter(3)
    val numbers = ArrayBuffer.range(0, 50)
    Target.sink += turn(greeter, numbers)
    Target.ready("Scala")
    while (true) //: main
      Target.sink += turn(greeter, numbers) //: main
  }
}
