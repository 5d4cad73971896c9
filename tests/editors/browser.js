// A browser without a screen: each line of input is what to do there, and "done" the answer.
//
//     node browser.js PLAYWRIGHT ADDRESS WIDTH HEIGHT
"use strict";

const { createInterface } = require("node:readline");

const [playwright, address, width, height] = process.argv.slice(2);
const { chromium } = require(playwright);

async function main() {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  const viewport = { width: Number(width), height: Number(height) };
  const page = await browser.newPage({ viewport });
  page.setDefaultTimeout(90000);
  await page.goto(address);
  const does = {
    wait: (text) => page.getByText(text).or(page.getByPlaceholder(text)).first().waitFor(),
    press: (key) => page.keyboard.press(key),
    type: (text) => page.keyboard.type(text, { delay: 20 }),
    picture: (path) => page.screenshot({ path }),
  };
  console.log("done");
  for await (const line of createInterface({ input: process.stdin })) {
    const [what, text] = JSON.parse(line);
    try {
      await does[what](text);
    } catch (error) {
      await page.screenshot({ path: "/tmp/failed.png" });
      throw error;
    }
    await page.waitForTimeout(800);
    console.log("done");
  }
  await browser.close();
}

main();
