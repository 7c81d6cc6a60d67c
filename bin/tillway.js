#!/usr/bin/env node
// Plain JavaScript, because npm can start this file with an older Node.js. The program is TypeScript, which needs Node.js 24 or
// newer. The package `node` contains one.
import { spawn } from 'node:child_process';
import module, { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MIN_MAJOR = 24;
const main = new URL('../src/main.ts', import.meta.url);

const [major] = process.versions.node.split('.').map(Number);
if (major >= MIN_MAJOR && process.features.typescript) {
  const folder = compileCacheFolder();
  if (folder !== undefined) {
    module.enableCompileCache(folder);
    // Worker threads read the setting from the environment.
    process.env.NODE_COMPILE_CACHE ??= folder;
  }
  await import(main.href);
} else {
  const node = packagedNode();
  if (node === undefined) {
    process.stderr.write(
      `tillway: Node.js ${MIN_MAJOR} or newer is needed, and this is ${process.version}. ` +
        'Run npm install in the folder of Tillway, which brings it along, or use a newer one.\n',
    );
    process.exit(1);
  }
  runWith(node);
}

/**
 * The folder of Node's compile cache, which saves a command most of its start: the sources without types, compiled. It
 * belongs to the user, since Node runs what it finds there; another user could prepare a folder in the temporary directory.
 * Node runs without a cache where the folder is undefined or not writable, and prefers NODE_COMPILE_CACHE where that is set.
 */
function compileCacheFolder() {
  const { XDG_CACHE_HOME, HOME } = process.env;
  const caches = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'));
  return caches ? join(caches, 'tillway') : undefined;
}

/** The path of the Node.js among the packages; undefined where it was not installed. */
function packagedNode() {
  const { resolve } = createRequire(import.meta.url);
  for (const path of ['node/bin/node', 'node/bin/node.exe']) {
    try {
      return resolve(path);
    } catch {
      // Of the two, one is on this machine.
    }
  }
  return undefined;
}

/** Ends as the program ends: with its exit code, or by its signal. */
function runWith(node) {
  const folder = compileCacheFolder();
  const env = { ...(folder && { NODE_COMPILE_CACHE: folder }), ...process.env };
  const child = spawn(node, [fileURLToPath(main), ...process.argv.slice(2)], { stdio: 'inherit', env });
  const { stdin, stdout, stderr } = process;
  // At a terminal Ctrl-C reaches both already; a second one would end the program before it has tidied up.
  const isAtTerminal = stdin.isTTY || stdout.isTTY || stderr.isTTY;
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
  const fromTerminal = ['SIGINT', 'SIGQUIT'];
  for (const signal of signals) {
    process.on(signal, () => {
      if (!isAtTerminal || !fromTerminal.includes(signal)) child.kill(signal);
    });
  }
  child.on('error', (error) => {
    process.stderr.write(`tillway: ${node} cannot be started: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    for (const each of signals) process.removeAllListeners(each);
    process.kill(process.pid, signal);
  });
}
