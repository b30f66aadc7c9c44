;; SPDX-License-Identifier: Apache-2.0
;; Clojure: functions of several arities, with names that Java does not allow, types and protocols, lazy
;; sequences of a closure. With DebugNonSafepoints C2 of 8 leaves spin's loop without lines in some runs: in one of
;; them JFR had it in 4.9 of 100 samples, and the agent in 4.6.
;;
;; busy: Target.spin 20 0
;; chain: LIBRARY $_main.doInvoke@main > $_main.invokeStatic@main > LIBRARY
;; chain: LIBRARY $_main.doInvoke@main $_main.invokeStatic@main $turn.invoke@turn > $turn.invokeStatic@turn > LIBRARY
;; chain: LIBRARY $_main.doInvoke@main $_main.invokeStatic@main $turn.invoke@turn $turn.invokeStatic@turn $spins_BANG_.invoke@spins > $spins_BANG_.invokeStatic@spins > (SPIN|LIBRARY)
;; chain: LIBRARY $_main.doInvoke@main $_main.invokeStatic@main $turn.invoke@turn $turn.invokeStatic@turn $many.invoke@many > $many.invokeStatic@one > LIBRARY
;; chain: LIBRARY $_main.doInvoke@main $_main.invokeStatic@main $turn.invoke@turn $turn.invokeStatic@turn $many.invoke@many $many.invokeStatic@one $many.invoke@many > $many.invokeStatic@two > (SPIN|LIBRARY)
;; chain: LIBRARY $_main.doInvoke@main $_main.invokeStatic@main $turn.invoke@turn $turn.invokeStatic@turn Clojure.Greeter.greet@greet > (SPIN|LIBRARY)
;; chain: LIBRARY $_main.doInvoke@main $_main.invokeStatic@main $turn.invoke@turn $turn.invokeStatic@turn $turn$closure__#.<init>@closure LIBRARY
;; chain: LIBRARY $_main.doInvoke@main $_main.invokeStatic@main $turn.invoke@turn $turn.invokeStatic@turn LIBRARY $turn$closure__#.invoke@closure > (SPIN|LIBRARY)

(ns Clojure)

(defprotocol Greets
  (greet [this n]))

(deftype Greeter [size] ; //: greet
  Greets
  (greet [this n] ; //: greet
    (Target/spin (int n)))) ; //: greet

(defn spins! [n] ; //: spins
  (Target/spin (int n))) ; //: spins

(defn many ; //: many one two
  ([n] (many n 1)) ; //: one
  ([n more] (Target/spin (int (+ n more))))) ; //: two

(defn turn [greeter numbers] ; //: turn
  (+ (spins! 300) ; //: turn
     (many 300) ; //: turn
     (greet greeter 300) ; //: turn
     (reduce + ; //: turn
             (map (fn closure [n] ; //: turn closure
                    (Target/spin (int n))) ; //: closure
                  numbers)))) ; //: turn

(defn -main [& arguments] ; //: main
  (let [greeter (Greeter. 3) ; //: main
        numbers (vec (range 200))] ; //: main
    (turn greeter numbers) ; //: main
    (Target/ready "Clojure") ; //: main
    (while true ; //: main
      (set! Target/sink (unchecked-int (turn greeter numbers)))))) ; //: main
