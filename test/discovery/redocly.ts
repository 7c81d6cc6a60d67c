import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toolPath } from '../support/tools.ts';

/** Saves the OpenAPI and Arazzo documents of a service in a folder. */
export async function saveDescription(url: string, folder: string): Promise<void> {
  for (const name of ['openapi.json', 'arazzo.yaml']) {
    const response = await fetch(`${url}/${name}`);
    await writeFile(join(folder, name), await response.text());
  }
}

export async function replaceIn(folder: string, name: string, from: string, to: string): Promise<void> {
  const text = await readFile(join(folder, name), 'utf8');
  if (!text.includes(from)) throw new Error(`${name} does not contain ${from}`);
  await writeFile(join(folder, name), text.replace(from, to));
}

/** Runs the Redocly CLI in a folder, without telemetry and update checks. */
export async function redocly(folder: string, ...options: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [toolPath('redocly'), ...options], {
    cwd: folder,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve).once('error', reject);
  });
  return { code, output };
}
