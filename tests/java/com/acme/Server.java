package com.acme;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

class Customer {
    final String name;

    Customer(String name) {
        this.name = name;
    }
}

/** What is sold; the documentation has logpoints in it. */
class Order {
    final int price;
    final Customer customer;
    long total;

    Order(int price, Customer customer) {
        this.price = price;
        this.total = 2L * price;
        this.customer = customer;
    }

    String buyer() {
        return customer.name;
    }

    /**
     * Adds some pieces, over and over in the server's thread "adder".
     *
     * @param n how many
     * @return how much it is then
     */
    long add(int n) {
        if (n < 0) {
            throw new IllegalArgumentException("pieces: " + n);
        }
        total += (long) Server.counted(n) * price;
        return total;
    }
}

/** Where it is paid for. */
class Till {
    static void pay(int amount) throws IOException {
        if (amount < 0) {
            throw new IOException("no such amount");
        }
    }
}

/**
 * The program that the documentation's command lines name MyServer, Server or 4711: it holds orders of
 * customers, two threads contend for a lock, and a third one throws.
 */
public class Server {
    static final List<Order> orders = new ArrayList<>();
    static final Object till = new Object();
    static final AtomicBoolean open = new AtomicBoolean(true);

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 1000; i++) {
            orders.add(new Order(i, new Customer("customer " + i % 10)));
        }
        for (String name : new String[] {"first", "second"}) {
            start(name, Server::sell);
        }
        start("reader", Server::read);
        start("adder", Server::add);
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // until the test ends
        }
        open.set(false);
    }

    static void start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    static void sell() {
        while (open.get()) {
            synchronized (till) {
                pause(20);
            }
        }
    }

    static void read() {
        while (open.get()) {
            try {
                Integer.parseInt("twelve");
            } catch (NumberFormatException expected) {
                pause(20);
            }
        }
    }

    static void add() {
        for (int i = 0; open.get(); i++) {
            orders.get(1).add(i % 3);
            orders.get(1).buyer();
            try {
                Till.pay(i);
            } catch (IOException failed) {
                System.err.println(failed.getMessage());
            }
            pause(20);
        }
    }

    /** Takes half a millisecond, so that a profile has samples of it. */
    static int counted(int n) {
        long until = System.nanoTime() + 500_000;
        while (System.nanoTime() < until) {
            // somebody counts
        }
        return n;
    }

    static void pause(int milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }
}
