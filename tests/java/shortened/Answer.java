/** A line less with code. */



class Answer {
    static int answer(int n) {
        int twice = n * 2; // mark: twice

        return twice; // mark: answer
    }
}
