import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** How a host starts `tillway mcp`; its complaints are thrown away. */
export function stdioCommand(url: string) {
  return { command: process.execPath, args: [PROGRAM, 'mcp', '--url', url], stderr: 'ignore' as const };
}
