package shop

class Order(val number: Int, var total: Int)

class Shop {
    var sum = 0

    fun price(count: Int): Int {
        val net = count * 10 // NET
        return net + 1 // RETURN
    }

    fun round(number: Int): Int {
        val order = Order(number, 0) // ORDER
        discounted(number) { rate -> // CALL
            order.total = price(number) - rate // LAMBDA
        }
        val all = listOf(1, 2, 3).sumOf { it * number } // SUM
        sum = order.total + all // TOTAL
        try {
            if (number % 5 == 0) throw IllegalStateException("round $number") // THROW
        } catch (expected: IllegalStateException) {
            sum -= 1 // CAUGHT
        }
        return sum // END
    }
}

fun main() {
    val shop = Shop()
    var number = 0
    while (true) {
        number += 1
        val sum = shop.round(number) // ROUND
        println("round $number sum $sum")
        Thread.sleep(20)
    }
}
