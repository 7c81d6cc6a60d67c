import type { Command } from 'commander';
import { type CommandContext, describedCommand } from './context.ts';

/** `tillway mcp`: the tools of a running service for a host that starts programs and speaks with them. */
export function mcpCommand(context: CommandContext): Command {
  const command = describedCommand('mcp', {
    summary: 'Serve the tools of a service to an agent, over the standard input and output',
    details:
      'For a host that starts its MCP servers as programs. One that takes a URL is given the address of the service with /mcp instead. Runs until the input is closed.',
    examples: ['tillway mcp', 'tillway mcp --url https://pay.example'],
    data: false,
  });
  return command.action(async () => {
    const url = context.urlOf(command);
    // No other command needs the protocol, which takes a while to load.
    const { serveMcp } = await import('./mcp-stdio.ts');
    await serveMcp(context.client(command), url, (problem) => context.terminal.complain(`tillway mcp: ${problem}\n`));
  });
}
