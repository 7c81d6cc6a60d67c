import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of third-party programs that only the tests use. */
const FOLDER = fileURLToPath(new URL('../tools/', import.meta.url));

type Tool = 'bun' | 'conformance' | 'deno' | 'mcp-inspector' | 'openapi-typescript' | 'redocly' | 'solcjs';

export function toolPath(name: Tool): string {
  if (!isInstalled(FOLDER)) throw new Error('The tools of the tests are missing: npm ci --prefix test/tools');
  return join(FOLDER, 'node_modules/.bin', name);
}

/** Installs the programs of a folder from their lockfile unless they are installed. */
export async function installTools(folder = FOLDER): Promise<void> {
  if (isInstalled(folder)) return;
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder, stdio: 'inherit' });
  const code = await new Promise((resolve, reject) => npm.once('exit', resolve).once('error', reject));
  if (code !== 0) throw new Error(`npm ci in ${folder} ended with ${String(code)}`);
}

function isInstalled(folder: string): boolean {
  // npm writes this file at the end of an installation.
  const installed = join(folder, 'node_modules/.package-lock.json');
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(folder, 'package-lock.json')).mtimeMs;
}
