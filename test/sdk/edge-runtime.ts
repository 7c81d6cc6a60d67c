import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Module, SourceTextModule, createContext } from 'node:vm';

// The globals of an edge runtime, without the globals of Node.
// https://min-common-api.proposal.wintertc.org
const { fetch, crypto, URL, URLSearchParams, Headers, Request, Response, AbortController, AbortSignal } = globalThis;
const { TextEncoder, TextDecoder, setTimeout, clearTimeout, atob, btoa } = globalThis;
const web = { fetch, crypto, URL, URLSearchParams, Headers, Request, Response, AbortController, AbortSignal };
const context = createContext({ ...web, TextEncoder, TextDecoder, setTimeout, clearTimeout, atob, btoa });

const [packageFolder = '', programPath = '', baseUrl = ''] = process.argv.slice(2);
const modules = new Map<string, SourceTextModule>();

function load(path: string): SourceTextModule {
  const known = modules.get(path);
  if (known) return known;
  const module = new SourceTextModule(readFileSync(path, 'utf8'), { context, identifier: path });
  modules.set(path, module);
  return module;
}

/** Resolves the SDK and relative paths. The import of a Node module fails, because no such file exists. */
function link(specifier: string, from: Module): Module {
  if (specifier === '@tillway/sdk') return load(join(packageFolder, 'dist/index.js'));
  return load(join(from.identifier, '..', specifier));
}

const main = load(programPath);
await main.link(link);
await main.evaluate();
const { program } = main.namespace as { program(baseUrl: string): Promise<unknown> };
process.stdout.write(JSON.stringify(await program(baseUrl)));
