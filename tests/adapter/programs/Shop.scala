package shop

class Order(val number: Int, var total: Int)

class Shop:
  var sum = 0

  def price(count: Int): Int =
    val net = count * 10 // NET
    net + 1 // RETURN

  def round(number: Int): Int =
    val order = Order(number, 0) // ORDER
    discounted(number) { rate => // CALL
      order.total = price(number) - rate // LAMBDA
    }
    val all = List(1, 2, 3).map(_ * number).sum // SUM
    sum = order.total + all // TOTAL
    try
      if number % 5 == 0 then throw IllegalStateException(s"round $number") // THROW
    catch case expected: IllegalStateException => sum -= 1 // CAUGHT
    sum // END

@main def main(): Unit =
  val shop = Shop()
  var number = 0
  while true do
    number += 1
    val sum = shop.round(number) // ROUND
    println(s"round $number sum $sum")
    Thread.sleep(20)
