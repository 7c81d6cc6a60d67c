import type { Command } from 'commander';
import { type CommandContext, apiKeyOf, describedCommand } from './command-context.ts';

/** The `mcp` command: serves the tools of a running service to an MCP host over standard input and output. */
export function mcpCommand(context: CommandContext): Command {
  const command = describedCommand('mcp', {
    summary: 'Serve the tools of a service to an agent over standard input and output',
    details:
      'For MCP hosts that start servers as programs. Hosts that take a URL connect to /mcp of the service directly. --url accepts the address with or without /mcp. Runs until the input is closed and every request is answered.',
    examples: ['tillway mcp', 'tillway mcp --url https://pay.example'],
    data: false,
  });
  return command.action(async () => {
    // Users may give the /mcp address that other hosts use; this command adds the path itself.
    const url = context.urlOf(command).replace(/\/mcp$/, '');
    // Imported here, because the MCP packages load slowly.
    const { serveMcp } = await import('./mcp-stdio.ts');
    const { complain, randomBytes } = context.terminal;
    const service = { url, apiKey: apiKeyOf(context.terminal) };
    await serveMcp(service, { complain: (problem) => complain(`tillway mcp: ${problem}\n`), randomBytes });
  });
}
