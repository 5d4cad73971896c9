package shop

inline def discounted(number: Int)(inline body: Int => Unit): Unit =
  val rate = number % 3 // RATE
  body(rate) // BODY
