/** More code before the same line. */



class Answer {
    static int answer(int n) {
        int twice = n * 20 + n * n * 3; // mark: twice
        int more = twice + 100; // mark: more
        return more; // mark: answer
    }
}
