// Imports a file as speedscope's page does, and prints the profiles as JSON.
//
//     node speedscope_importer.js BUNDLE FILE
//
// The bundle is the whole page, which gives away one way in: the function that loads a file of a
// base64 text. It is called without a page around it.

"use strict";

const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [bundle, file] = process.argv.slice(2);
const source = fs.readFileSync(bundle, "utf8");
const way = /loadFileFromBase64:\((\w+),(\w+)\)=>\{this\.loadProfile\(\(\)=>([\w$]+)\(\1,\2\)\)\}/;
const [, , , name] = source.match(way);
const begin = source.indexOf("{") + 1;
// Behind this it draws.
const end = source.indexOf("console.log(`speedscope v");
// As much of a page as its variables ask for when they are made.
const nothing = new Proxy(() => undefined, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => "" : nothing),
  apply: () => nothing,
});
Object.assign(globalThis, {
  window: globalThis,
  document: nothing,
  location: { hash: "", search: "", protocol: "file:" },
  matchMedia: () => ({ matches: false, addEventListener() {}, addListener() {} }),
});
vm.runInThisContext(
  `${source.slice(0, begin)}globalThis.imported=(a,b)=>${name}(a,b);${source.slice(begin, end)}})();`,
);

const tree = (node) => ({
  name: node.frame.name,
  line: node.frame.line,
  total: node.getTotalWeight(),
  own: node.getSelfWeight(),
  children: node.children.map(tree),
});

globalThis
  .imported(path.basename(file), fs.readFileSync(file).toString("base64"))
  .then((group) => {
    const profiles = group.profiles.map((one) => ({
      name: one.getName(),
      unit: one.getWeightUnit(),
      total: one.getTotalWeight(),
      tree: one.getGroupedCalltreeRoot().children.map(tree),
    }));
    fs.writeSync(1, JSON.stringify({ name: group.name, profiles }));
  });
