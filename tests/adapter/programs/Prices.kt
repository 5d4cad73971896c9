package shop

inline fun discounted(number: Int, body: (Int) -> Unit) {
    val rate = number % 3 // RATE
    body(rate) // BODY
}
