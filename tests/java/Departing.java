import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Methods in the middle of which the VM sends an event, to be left from its handler.
 *
 * <p>One command a line, the name of a method; one line of answer, what it returns and one more.
 */
public class Departing {
    static volatile Object kept;
    static int number = 5;
    int field = 7;
    static final Object lock = new Object();

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            String answer;
            try {
                answer = String.valueOf(call(line));
            } catch (Throwable problem) {
                answer = "error " + problem;
            }
            System.out.println(answer);
        }
        System.exit(0);
    }

    static int call(String name) throws Exception {
        int before = 1;
        int got;
        switch (name) {
            case "echo": got = 5; break;
            case "caught": got = caught(3); break;
            case "again": got = again(); break;
            case "allocate": got = allocate(3); break;
            case "allocateMany": got = allocateMany(3); break;
            case "sampled": got = sampled(3); break;
            case "cloned": got = cloned(3); break;
            case "multi": got = multi(3); break;
            case "literal": got = literal(3); break;
            case "loadOne": got = loadOne(3); break;
            case "loadTwo": got = loadTwo(3); break;
            case "loadOwn": got = loadOwn(3); break;
            case "loadForName": got = loadForName(3); break;
            case "explicit": got = explicit(3); break;
            case "implicit": got = implicit(3); break;
            case "uncaught": got = uncaught(3); break;
            case "contended": got = contended(3); break;
            case "contendedMethod": got = contendedMethod(3); break;
            case "waiting": got = waiting(3); break;
            case "touch": got = touch(3); break;
            case "locked": got = locked(3); break;
            case "exhaust": got = exhaust(3); break;
            case "bind": got = bind(3); break;
            case "start": got = start(3); break;
            case "virtual": got = virtual(3); break;
            case "lambda": got = lambda(3); break;
            case "boxed": got = boxed(3); break;
            default: throw new IllegalArgumentException(name);
        }
        return got + before;
    }

    /** What a handler throws is caught in the caller, by its class. */
    static int caught(int value) {
        try {
            return touch(value);
        } catch (ArithmeticException thrown) {
            return 1000 + thrown.getMessage().length();
        }
    }

    static int again() {
        int sum = 0;
        for (int i = 0; i < 300; i++) {
            sum += caught(3);
        }
        return sum;
    }

    static int allocate(int value) { kept = new int[3000]; return value; }
    static int allocateMany(int value) { for (int i = 0; i < 200; i++) kept = new Object[100]; return value; }
    /** More than the room of a thread, and twenty times what is allocated between two samples. */
    static int sampled(int value) { for (int i = 0; i < 100_000; i++) kept = new Object[100]; return value; }
    /** One object that the VM allocates itself. */
    static int cloned(int value) { kept = new int[value].clone(); return value; }
    static int multi(int value) { kept = new int[5][200]; return value; }
    static int literal(int value) { kept = "a literal that nobody has resolved"; return value; }
    static int loadOne(int value) { kept = new java.util.zip.CRC32(); return value; }
    static int loadTwo(int value) { kept = java.util.Locale.getISOCountries(); kept = new java.util.concurrent.Phaser(); return value; }
    static class Own { static int initialised = Integer.parseInt("7"); int some = 5; }
    static int loadOwn(int value) { kept = new Own(); return value; }
    static class Named { static int initialised = Integer.parseInt("7"); }
    static int loadForName(int value) throws Exception { kept = Class.forName("Departing$Named"); return value; }
    static int explicit(int value) { try { throw new IllegalStateException("explicit"); } catch (IllegalStateException e) { return value + 1; } }
    static int implicit(int value) { int[] none = null; try { return none[value]; } catch (NullPointerException e) { return value + 1; } }
    static int fails(int value) { int[] none = new int[1]; return none[value]; }
    static int uncaught(int value) { try { return fails(value); } catch (ArrayIndexOutOfBoundsException e) { return value + 2; } }
    static volatile boolean taken;
    static volatile Thread wanting;
    static Thread holder() throws Exception {
        taken = false;
        wanting = Thread.currentThread();
        Thread holder = new Thread(() -> {
            synchronized (lock) {
                taken = true;
                long until = System.currentTimeMillis() + 3000;
                while (wanting.getState() != Thread.State.BLOCKED && System.currentTimeMillis() < until) Thread.yield();
                try { Thread.sleep(30); } catch (InterruptedException e) { }
            }
        });
        holder.start();
        while (!taken) Thread.yield();
        return holder;
    }
    static int enter(int value) { synchronized (lock) { return value + 1; } }
    static int contended(int value) throws Exception { Thread h = holder(); int got = enter(value); h.join(); return got; }
    synchronized int mine(int value) { return value + 1; }
    static int contendedMethod(int value) throws Exception {
        Departing one = new Departing();
        taken = false;
        wanting = Thread.currentThread();
        Thread holder = new Thread(() -> {
            synchronized (one) {
                taken = true;
                long until = System.currentTimeMillis() + 3000;
                while (wanting.getState() != Thread.State.BLOCKED && System.currentTimeMillis() < until) Thread.yield();
                try { Thread.sleep(30); } catch (InterruptedException e) { }
            }
        });
        holder.start();
        while (!taken) Thread.yield();
        int got = one.mine(value);
        holder.join();
        return got;
    }
    static int waiting(int value) throws Exception { synchronized (lock) { lock.wait(20); } return value; }
    static int touch(int value) { number = value; int read = number; Departing one = new Departing(); one.field = read; return one.field; }
    static synchronized int locked(int value) { return value + 1; }
    static int exhaust(int value) { try { kept = new long[Integer.MAX_VALUE - 8]; return value; } catch (OutOfMemoryError e) { return value + 1; } }
    static int bind(int value) { kept = new java.util.zip.Adler32(); ((java.util.zip.Adler32) kept).update(5); return value + (int) StrictMath.cbrt(27); }
    static int start(int value) throws Exception { Thread one = new Thread(() -> kept = "started"); one.start(); one.join(); return value; }
    static int virtual(int value) throws Exception {
        Thread one = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) () -> { kept = "x"; Thread.yield(); });
        one.join();
        return value;
    }
    static int lambda(int value) { Runnable one = () -> kept = "l"; one.run(); return value; }
    static int boxed(int value) { Integer many = 100000; kept = many; return value; }
}
