/** Variables that share slots in ways that no compiler chooses: the test writes other slots into the code. */
public class Halves {
    static class Hook {
        static void say(String what, long value) {
            System.out.println(what + " " + value);
        }

        static void say(String what, int value) {
            System.out.println(what + " " + value);
        }
    }

    /** `next` in slot 1 would end `wide`, which has slots 0 and 1. */
    static int above() {
        long wide = 1L << 40;
        int next = 7;
        return next + 1;
    }

    /** `wide` in slots 0 and 1 would end `first` and `second`. */
    static long below() {
        int first = 3;
        int second = 4;
        long wide = 1L << 41;
        return wide + 1;
    }

    public static void main(String[] arguments) {
        System.out.println(above() + " " + below());
    }
}
