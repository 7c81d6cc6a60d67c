import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of third-party programs that only the tests use. */
const FOLDER = fileURLToPath(new URL('../tools/', import.meta.url));
// npm writes this file at the end of an installation.
const INSTALLED = join(FOLDER, 'node_modules/.package-lock.json');
const WANTED = join(FOLDER, 'package-lock.json');

type Tool = 'bun' | 'conformance' | 'deno' | 'mcp-inspector' | 'openapi-typescript' | 'redocly' | 'solcjs';

export function toolPath(name: Tool): string {
  if (!isInstalled()) throw new Error('The tools of the tests are missing: npm ci --prefix test/tools');
  return join(FOLDER, 'node_modules/.bin', name);
}

/** Installs the programs from their lockfile unless they are installed. */
export async function installTools(): Promise<void> {
  if (isInstalled()) return;
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: FOLDER, stdio: 'inherit' });
  const code = await new Promise((resolve, reject) => npm.once('exit', resolve).once('error', reject));
  if (code !== 0) throw new Error(`npm ci in ${FOLDER} ended with ${String(code)}`);
}

function isInstalled(): boolean {
  return existsSync(INSTALLED) && statSync(INSTALLED).mtimeMs >= statSync(WANTED).mtimeMs;
}
