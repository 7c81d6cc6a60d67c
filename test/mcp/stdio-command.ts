import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Command of a host for `tillway mcp`. Error output is discarded. */
export function stdioCommand(url: string) {
  return { command: process.execPath, args: [PROGRAM, 'mcp', '--url', url], stderr: 'ignore' as const };
}
