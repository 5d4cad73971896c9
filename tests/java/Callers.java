/** Calls itself by several methods; what their variables hold follows from the round. */
public class Callers {
    static volatile long sink;
    static volatile Object kept;

    static long mix(long seed, int number) {
        long x = seed * 0x9E3779B97F4A7C15L + number * 0xBF58476D1CE4E5B9L;
        x ^= x >>> 29;
        x *= 0x94D049BB133111EBL;
        return x ^ (x >>> 32);
    }

    static void bottom(long seed, int depth) {
        sink += seed + depth;
    }

    static void next(long seed, int depth) {
        if (depth == 0) {
            bottom(seed, depth);
            return;
        }
        long below = mix(seed, 0);
        switch ((int) (seed & 3)) {
            case 0:
                all(below, depth - 1);
                break;
            case 1:
                spent(below, depth - 1);
                break;
            case 2:
                new Callers().looping(below, depth - 1);
                break;
            default:
                zeros(below, depth - 1, 0, false, 0L, 0.0, null);
        }
    }

    /** Needs everything afterwards. */
    static double all(long seed, int depth) {
        int i = (int) mix(seed, 1);
        long l = mix(seed, 2);
        float f = (float) (mix(seed, 3) % 1000);
        double d = mix(seed, 4) / 3.0;
        boolean z = (mix(seed, 5) & 1) == 1;
        short s = (short) mix(seed, 6);
        byte b = (byte) mix(seed, 7);
        char c = (char) mix(seed, 8);
        next(seed, depth);
        return i + l + f + d + (z ? 1 : 0) + s + b + c + depth + seed;
    }

    /** Needs nothing afterwards but its seed. */
    static void spent(long seed, int depth) {
        int i = (int) mix(seed, 1);
        long l = mix(seed, 2);
        float f = (float) (mix(seed, 3) % 1000);
        double d = mix(seed, 4) / 3.0;
        boolean z = (mix(seed, 5) & 1) == 1;
        sink += i + l + (z ? 1 : 0);
        kept = Double.valueOf(f + d);
        next(seed, depth);
        sink += seed;
    }

    /** Is compiled while it loops, and needs some of its variables in a next round only. */
    void looping(long seed, int depth) {
        int i = (int) mix(seed, 1);
        double d = mix(seed, 4) / 3.0;
        for (int at = 0; at < 3; at++) {
            long l = mix(seed, 2) + at;
            Long boxed = l;
            if (at == 1) {
                next(seed, depth);
            }
            sink += l + boxed + i;
        }
        if (d == 0.5) {
            kept = this;
        }
    }

    /** Everything is zero. */
    static void zeros(long seed, int depth, int zi, boolean zz, long zl, double zd, Object zo) {
        int zspent = zi;
        sink += zspent;
        next(seed, depth);
        sink += seed + zi + (zz ? 1 : 0) + zl + (long) zd + (zo == null ? 0 : 1);
    }

    static void run(long rounds) {
        for (long round = 1; rounds == 0 || round <= rounds; round++) {
            next(mix(round, 9), (int) (round & 7) + 1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        run(20_000); // so that much of it is compiled
        Runnable body = () -> run(0);
        System.out.println("ready");
        if (arguments.length == 0) {
            body.run();
        } else {
            Object made = Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
            ((Thread) made).join();
        }
    }
}
