import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Methods that a debugger begins again.  Each command calls one and prints what it returned, and
 * how often it began.  Tests name its lines by the words in their comments.
 */
public class Restarted {
    static int began;
    final int factor;

    Restarted(int factor) {
        began++; // MADE
        this.factor = factor;
    }

    static String all(
            boolean z, byte b, char c, short s, int i, long j, float f, double d, String t, int[] a) {
        began++;
        String before = z + " " + b + " " + c + " " + s + " " + i + " " + j + " " + f + " " + d;
        before += " " + t + " " + a.length;
        z = !z;
        b++;
        c++;
        s++;
        i++;
        j++;
        f++;
        d++;
        t += "!";
        a = new int[a.length + 1];
        return before + ", then " + z + b + c + s + i + j + f + d + t + a.length; // ALL
    }

    static int countDown(int n) {
        while (n > 0) {
            n--;
        }
        began++;
        return n - 1; // DOWN
    }

    static int loop() {
        while (true) {
            if (began++ >= 0) {
                return began; // LOOP
            }
        }
    }

    int times(int n, long big) {
        began++;
        int product = factor * n;
        for (String one : new String[] {"a", "b"}) {
            product += one.length();
        }
        return product + (int) big; // TIMES
    }

    synchronized int held(int n) {
        began++;
        try {
            n += factor;
            return n; // HELD
        } finally {
            n = 0;
        }
    }

    int block(int n) {
        began++;
        synchronized (this) {
            return n + factor; // BLOCK
        }
    }

    static int fail(int n) {
        began++;
        int[] none = {};
        return none[n]; // FAIL
    }

    static String answer(String command) {
        Restarted one = new Restarted(3);
        began = 0;
        switch (command) {
            case "all":
                return all(true, (byte) 1, 'c', (short) 2, 3, 4L, 5f, 6d, "text", new int[7]);
            case "countDown":
                return "" + countDown(5);
            case "loop":
                return "" + loop();
            case "times":
                return "" + one.times(4, 5L);
            case "held":
                return one.held(4) + " " + Thread.holdsLock(one);
            case "block":
                return "" + one.block(4);
            case "made":
                return "" + new Restarted(5).factor;
            case "warm":
                for (int i = 0; i < 20_000; i++) {
                    one.times(i, i);
                }
                return "warm";
            default:
                try {
                    return "" + fail(1);
                } catch (ArrayIndexOutOfBoundsException e) {
                    return "failed";
                }
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(line) + "; " + began);
        }
    }
}
