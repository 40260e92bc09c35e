// Turns a plug-in's sources into plain JavaScript, so that its tests need no WebAssembly
// and no build: the compiler makes the module, as for a host, and Binaryen's wasm2js
// writes it as JavaScript with the same integers, floats and memory.
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import asc from "assemblyscript/asc";
import binaryen from "assemblyscript/binaryen";

/**
 * Compiles the plug-in whose asconfig.json lies in dir, a path or a URL. Gives a function
 * that makes an instance out of imports: an object with the module's exports. Mistakes
 * in the sources are an error with the compiler's report.
 */
export async function compile(dir) {
  const module = await toModule(dir instanceof URL ? fileURLToPath(dir) : dir);
  return new Function("imports", toJavaScript(module));
}

async function toModule(dir) {
  let module;
  const { error, stderr } = await asc.main(
    // Not optimized: the same results, sooner.
    ["--baseDir", dir, "--outFile", "twin.wasm", "--optimizeLevel", "0", "--noColors"],
    {
      readFile: (name, base) => readFile(path.resolve(base, name), "utf8").catch(() => null),
      writeFile: (_, bytes) => { module = bytes; },
    },
  );
  if (error) throw new Error(`compile ${path.resolve(dir)}: ${error.message}\n${stderr}`);
  if (!module) throw new Error(`compile ${path.resolve(dir)}: there is no asconfig.json with entries`);
  return module;
}

function toJavaScript(bytes) {
  const module = binaryen.readBinary(bytes);
  try {
    module.setFeatures(binaryen.Features.All);
    // wasm2js takes what a load says of its alignment for true, where WebAssembly takes
    // it for a hint, and does not know conversions of floats that cannot trap.
    module.runPasses(["dealign", "llvm-nontrapping-fptoint-lowering"]);
    binaryen.setOptimizeLevel(0);
    binaryen.setShrinkLevel(0);
    const text = module.emitAsmjs();
    const end = text.indexOf("\nvar retasmFunc = asmFunc(");
    if (end < 0) throw new Error("BUG: this version of Binaryen writes another form of JavaScript");
    return text.slice(0, end).replace(/^import .*$/gm, "") + "\nreturn asmFunc(imports);";
  } finally {
    module.dispose();
  }
}
